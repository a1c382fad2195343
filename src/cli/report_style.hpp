// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The look of the report: the reader's own fonts, one column for words and a wider one for figures, light or
// dark as the reader's system is, and black on white when printed.
#pragma once

#include "machine/markup.hpp"

namespace nigh::cli {

inline constexpr MarkupLiteral report_style = R"css(
:root{color-scheme:light dark;--paper:#fcfcfa;--ink:#1c2430;--soft:#5b6572;--line:#dfe1e0;--card:#fff;--nigh:#1f6feb;
--other:#8a94a3;--bad:#b42318;--good:#18794e;--wash:#f1f3f5}
@media (prefers-color-scheme:dark){:root{--paper:#11151b;--ink:#e6e9ef;--soft:#9aa5b4;--line:#2a313c;--card:#171c24;
--nigh:#6ea0ff;--other:#7b8696;--bad:#ff8a7a;--good:#5fd3a0;--wash:#1d232d}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.58 ui-sans-serif,system-ui,-apple-system,"Segoe UI",
"Noto Sans","DejaVu Sans",Helvetica,Arial,sans-serif;-webkit-font-smoothing:antialiased;text-rendering:optimizeLegibility}
main{max-width:82rem;margin:0 auto;padding:3.5rem 1.5rem 4rem}
h1,h2{font-family:Charter,"Iowan Old Style","Palatino Linotype","Source Serif 4",Georgia,"Noto Serif","DejaVu Serif",serif;
font-weight:600;letter-spacing:-.012em;line-height:1.18;text-wrap:balance}
h1{font-size:2.7rem;margin:0 0 .4rem}
h2{font-size:1.7rem;margin:4rem 0 .5rem;padding-top:1.4rem;border-top:1px solid var(--line)}
h3{font-size:1.02rem;margin:2.4rem 0 .7rem;font-weight:650}
h4{font-size:.86rem;margin:0 0 .55rem;font-weight:600}
h4 span{font-weight:400;color:var(--soft)}
p{max-width:44rem;margin:.5rem 0 1rem;hyphens:auto}
.lead{font-size:1.1rem;color:var(--soft)}
.note,figcaption{font-size:.86rem;line-height:1.5;color:var(--soft);max-width:46rem}
code{font-family:ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:.88em}
nav{margin:1.6rem 0 0;font-size:.9rem}
nav a{color:var(--nigh);text-decoration:none;margin-right:1.3rem}
nav a:hover{text-decoration:underline}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:1px;background:var(--line);
border:1px solid var(--line);border-radius:10px;overflow:hidden;margin:2rem 0}
.facts div{background:var(--card);padding:1rem 1.15rem}
.facts b{display:block;font-size:1.55rem;font-weight:600;letter-spacing:-.02em;font-variant-numeric:tabular-nums;line-height:1.25}
.facts span{font-size:.84rem;color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.4rem;font-size:.9rem;margin:1.2rem 0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.strip{display:block;width:100%;height:14px;background:var(--wash);border-radius:3px}
.strip rect{fill:var(--nigh)}
td.wide{width:100%;min-width:20rem}
figure{margin:1.4rem 0 2rem}
figure .pic{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.6rem}
figure svg{display:block;margin:0 auto}
figcaption{margin-top:.6rem}
.gallery{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(25rem,100%),1fr));gap:.5rem 1.5rem;align-items:start}
.gallery figure{margin:.8rem 0}
pre{font:12.5px/1.5 ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono",Menlo,Consolas,monospace;background:var(--wash);
border-radius:8px;padding:.9rem 1.1rem;overflow-x:auto}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(35rem,100%),1fr));gap:1.1rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.95rem 1.1rem .7rem;overflow-x:auto;
break-inside:avoid}
table{border-collapse:collapse;width:100%;font-size:.79rem;line-height:1.35;font-variant-numeric:tabular-nums}
th{font-weight:500;color:var(--soft);text-align:left;padding:.15rem .55rem .3rem 0;border-bottom:1px solid var(--line);
white-space:nowrap}
td{padding:.2rem .55rem .2rem 0;white-space:nowrap;vertical-align:middle}
td.n,th.n{text-align:right}
.card table{table-layout:fixed}
.card th:nth-child(1){width:13rem}.card th.m{width:4rem}.card th.r{width:4.7rem}.card th.s{width:2.6rem}.card th.p{width:5rem}
.card th.v{width:1.2rem}.card th,.card td{padding-right:.5rem}.card th:last-child,.card td:last-child{padding-right:0}
.card td{overflow:hidden;text-overflow:ellipsis}
tr.nigh td{font-weight:600}
tr.nigh td.bar,tr.nigh td.p{font-weight:400}
td.p,th.p{padding-left:.4rem}
td.p{color:var(--soft);font-size:.74rem}
.bar svg{display:block;width:100%;height:16px}
.bar .range{stroke:var(--other);stroke-width:3;stroke-linecap:round;opacity:.45}
.bar .mid{fill:var(--other)}
.bar .base{stroke:var(--ink);stroke-width:1;stroke-dasharray:2 2;opacity:.4}
tr.nigh .range{stroke:var(--nigh)}tr.nigh .mid{fill:var(--nigh)}
tr.limit td{color:var(--soft)}tr.limit .mid{fill:none;stroke:var(--other);stroke-width:1.5}
.ok{color:var(--good)}.no{color:var(--bad);font-weight:600}
.peers .no{font-weight:400}.peers td.n{white-space:nowrap}
.wide{margin:0 0 1.1rem}.card .matrix{table-layout:auto;width:auto}.matrix td.x{color:var(--soft);font-size:.74rem;padding-right:1.1rem}
.matrix td.ours{font-weight:600;color:var(--nigh)}
details{margin:1rem 0}
summary{cursor:pointer;color:var(--nigh);font-size:.9rem;margin-bottom:.7rem}
.peers{overflow-x:auto}.peers table{font-size:.82rem}
.peers td,.peers th{padding:.35rem .8rem .35rem 0;border-bottom:1px solid var(--line);white-space:normal;vertical-align:top}
.policies{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(21rem,100%),1fr));gap:.4rem 2rem}
.policies figure{margin:.6rem 0}.policies h4{margin:0 0 .3rem}
.policies svg{width:100%}.policies text{font:10.5px ui-sans-serif,system-ui,sans-serif;fill:var(--soft)}
.policies rect{fill:var(--other);opacity:.55}.policies rect.published{fill:var(--good);opacity:.9}.policies rect.ours{fill:var(--nigh);opacity:1}
.policies polyline{fill:none;stroke:var(--other);stroke-width:1.8}.policies polyline.ours{stroke:var(--nigh)}.policies circle{fill:var(--good)}
.policies .base{stroke:var(--ink);opacity:.5}.policies .range{stroke:var(--ink);stroke-width:1.2;opacity:.55}
.rates{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:.4rem 2rem}.rates figure{margin:.6rem 0}
.rates h4{margin:0 0 .3rem}.rates svg{width:100%}.rates text{font:10.5px ui-sans-serif,system-ui,sans-serif;fill:var(--soft)}
.rates .grid{stroke:var(--line)}.rates .lead{stroke:var(--line)}.rates polyline{fill:none;stroke:var(--other);stroke-width:1.4}
.rates polyline.ours{stroke:var(--nigh);stroke-width:2.4}.rates polyline.variant{stroke:var(--nigh);opacity:.5}
.rates polyline.limit{stroke:var(--ink);stroke-dasharray:5 4;opacity:.7}.rates circle{fill:var(--other)}
.rates circle.ours,.rates circle.variant{fill:var(--nigh)}.rates circle.limit{fill:var(--ink)}
.rates text.ours{fill:var(--nigh);font-weight:600}.rates text.variant{fill:var(--nigh)}.rates text.limit{fill:var(--ink)}
footer{margin-top:4rem;padding-top:1.2rem;border-top:1px solid var(--line);font-size:.84rem;color:var(--soft)}
@media (max-width:40rem){main{padding:2rem 1rem}h1{font-size:2.1rem}.card table{min-width:33rem}}
@media print{:root{--paper:#fff;--card:#fff}body{font-size:10pt}main{max-width:none;padding:0}nav{display:none}
h2{break-after:avoid}.cards{grid-template-columns:1fr 1fr}figure,.card{break-inside:avoid}details>*{display:block}}
)css";

}  // namespace nigh::cli
