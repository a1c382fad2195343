// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
import { Component, type ComponentChild, type ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isModelled } from './benchmarks';
import { BenchmarksView } from './benchmarks_view';
import { CoverageView } from './coverage_view';
import { type Document, documentsOf, type Page, programsOf } from './documents';
import { GainsView } from './gains_view';
import { MachineView } from './machine_view';
import { save } from './figure';
import { fileOf } from './keep';
import { HelpView } from './help_view';
import { type Connection, emptyLive, listen } from './live';
import { MessagesView } from './messages_view';
import { ModelsView } from './models_view';
import { endOf, RunView } from './run_view';
import { AccountTextView, PeersView } from './texts_view';
import { TimeView } from './time_view';
import { watchedOf } from './watch';
import { WatchView } from './watch_view';

interface View {
  id: string;
  title: string;
  draw: (page: Page) => ComponentChild;
}

export function viewsOf(page: Page): View[] {
  const has = (...formats: Document['format'][]) => page.documents.some((one) => formats.includes(one.format));
  // A page that was live shows what there is; a report also says what it would show.
  const seen = has('nigh-live');
  const decisions: View = { id: 'decisions', title: 'Decisions', draw: (page) => <WatchView page={page} /> };
  const all: [boolean, View][] = [
    [documentsOf(page, 'nigh-live').some((one) => one.of === 'run'), { id: 'now', title: page.live ? 'Now' : 'Runs', draw: (page) => <RunView page={page} /> }],
    [seen && watchedOf(page).length > 0, decisions],
    [!seen || has('nigh-compare', 'nigh-tune', 'nigh-programs', 'nigh-bench'), { id: 'gains', title: 'Gains', draw: (page) => <GainsView page={page} /> }],
    [!seen || has('nigh-machine'), { id: 'machine', title: 'Machine', draw: (page) => <MachineView page={page} /> }],
    [!seen || has('nigh-traffic', 'nigh-rank-map'), { id: 'messages', title: 'Messages', draw: (page) => <MessagesView page={page} /> }],
    [has('nigh-mpi-account'), { id: 'coverage', title: 'Coverage', draw: (page) => <CoverageView page={page} /> }],
    [!seen && watchedOf(page).length > 0, decisions],
    [has('nigh-trace', 'nigh-rank-times'), { id: 'time', title: 'Over time', draw: (page) => <TimeView page={page} /> }],
    [!seen || has('nigh-bench'), { id: 'benchmarks', title: 'Benchmarks', draw: (page) => <BenchmarksView page={page} /> }],
    [has('nigh-transpose') || documentsOf(page, 'nigh-bench').some(isModelled), { id: 'models', title: 'Models', draw: (page) => <ModelsView page={page} /> }],
    [has('nigh-peers-table'), { id: 'peers', title: 'Other ways to bind', draw: (page) => <PeersView page={page} /> }],
    [has('nigh-account-text'), { id: 'account', title: 'Account', draw: (page) => <AccountTextView page={page} /> }],
  ];
  return all.filter(([there]) => there).map(([, view]) => view);
}

// A view without documents shows how to get some.
const fills: Record<string, Document['format'][]> = { gains: ['nigh-compare', 'nigh-tune', 'nigh-programs', 'nigh-bench'], messages: ['nigh-traffic', 'nigh-rank-map'], benchmarks: ['nigh-bench'] };
const isEmpty = (view: View, page: Page) => view.id in fills && !page.documents.some((one) => fills[view.id]!.includes(one.format));

// A page begins with what was put into it; of a machine alone with how to go on.
export function firstOf(views: View[], page: Page): View {
  return views.find((one) => one.id !== 'machine' && !isEmpty(one, page)) ?? views[0]!;
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

const connections: Record<Connection, string> = { waiting: 'connecting', open: 'live', lost: 'connection lost, trying again', ended: 'ended' };

// The page with what its feed has told so far, and how that stands.
function useLive(page: Page): Connection | null {
  const [connection, setConnection] = useState<Connection>('waiting');
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!page.live) return;
    const live = documentsOf(page, 'nigh-live')[0]!;
    let asked = 0;
    const stop = listen(page, live, (now) => {
      setConnection(now);
      // Many messages at once are one picture.
      asked ||= requestAnimationFrame(() => {
        asked = 0;
        redraw((count) => count + 1);
      });
    });
    return () => {
      stop();
      cancelAnimationFrame(asked);
    };
  }, [page]);
  return page.live ? connection : null;
}

export function withLive(page: Page): Page {
  return page.live ? { ...page, documents: [emptyLive(page.live), ...page.documents] } : page;
}

export function App({ page }: { page: Page }) {
  const connection = useLive(page);
  const views = viewsOf(page);
  const [id, setId] = useState(here());
  useEffect(() => {
    const changed = () => setId(here());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  const view = views.find((one) => one.id === id) ?? firstOf(views, page);
  const machine = documentsOf(page, 'nigh-machine')[0];
  const programs = programsOf(page);
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
            <a key={one.id} href={`#/${one.id}`} class={isEmpty(one, page) ? 'without' : undefined} aria-current={one === view ? 'page' : undefined}>{one.title}</a>
          ))}
        </nav>
        {connection && (
          <p class={`connection ${connection}`} role="status">
            {connection === 'ended' ? endOf(documentsOf(page, 'nigh-live')[0]!) : connections[connection]}
            <button type="button" onClick={() => save('nigh.html', new Blob([fileOf(page, document)], { type: 'text/html' }))}>Keep this page</button>
          </p>
        )}
      </header>
      <main id="main" tabIndex={-1} key={view.id}><Guard>{view.draw(page)}<HelpView id={view.id} /></Guard></main>
      <footer>
        {programs.length > 1 && <p>{`This page is of several programs: ${programs.map((one) => `${one.name} (${one.views.join(', ')})`).join('; ')}.`}</p>}
        nigh {page.nigh}, {page.date}. {page.live ? 'Kept as a file, this page is complete.' : 'This file is complete: nothing is fetched.'}
      </footer>
    </>
  );
}
