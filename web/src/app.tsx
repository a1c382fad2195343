// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { Component, type ComponentChild, type ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BenchmarksView } from './benchmarks_view';
import { CoverageView } from './coverage_view';
import { documentsOf, type Page } from './documents';
import { GainsView } from './gains_view';
import { MachineView } from './machine_view';
import { MessagesView } from './messages_view';

interface View {
  id: string;
  title: string;
  draw: (page: Page) => ComponentChild;
}

export function viewsOf(page: Page): View[] {
  const out: View[] = [
    { id: 'gains', title: 'Gains', draw: (page) => <GainsView page={page} /> },
    { id: 'machine', title: 'Machine', draw: (page) => <MachineView page={page} /> },
    { id: 'messages', title: 'Messages', draw: (page) => <MessagesView page={page} /> },
    { id: 'benchmarks', title: 'Benchmarks', draw: (page) => <BenchmarksView page={page} /> },
  ];
  if (documentsOf(page, 'nigh-mpi-account').length > 0) out.splice(3, 0, { id: 'coverage', title: 'Coverage', draw: (page) => <CoverageView page={page} /> });
  for (const one of page.sections)
    out.push({
      id: one.id,
      title: one.title,
      // Written by nigh's own markup builder, which escapes all texts; the page's policy lets no script of it run.
      draw: () => <section class="drawn" dangerouslySetInnerHTML={{ __html: one.markup }} />,
    });
  return out;
}

// One view that cannot be drawn leaves the others.
class Guard extends Component<{ children: ComponentChildren }, { error: string }> {
  override state = { error: '' };
  override componentDidCatch(error: unknown) {
    this.setState({ error: String(error) });
  }
  render() {
    if (!this.state.error) return <>{this.props.children}</>;
    return (
      <section>
        <h1 id="title">This view could not be drawn</h1>
        <p>A document in this page does not have the form that it should have ({this.state.error}). The other views are not touched by that.</p>
      </section>
    );
  }
}

const here = () => location.hash.replace(/^#\/?/, '').split('?')[0] ?? '';

export function App({ page }: { page: Page }) {
  const views = viewsOf(page);
  const [id, setId] = useState(here());
  useEffect(() => {
    const changed = () => setId(here());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  const view = views.find((one) => one.id === id) ?? views[0]!;
  const machine = documentsOf(page, 'nigh-machine')[0];
  useEffect(() => {
    document.title = `nigh: ${view.title}${machine ? `, ${machine.title || machine.name}` : ''}`;
  }, [view, machine]);
  return (
    <>
      <a class="skip" href="#title" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>To the content</a>
      <header>
        <p class="brand">nigh</p>
        <nav aria-label="Views">
          {views.map((one) => (
            <a key={one.id} href={`#/${one.id}`} aria-current={one === view ? 'page' : undefined}>{one.title}</a>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1} key={view.id}><Guard>{view.draw(page)}</Guard></main>
      <footer>
        nigh {page.nigh}, {page.date}. This file is complete: nothing is fetched.
      </footer>
    </>
  );
}
