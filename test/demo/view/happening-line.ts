import type { Happening } from '../feed.js';
import { span, type Line, type Style } from './span.js';
import { bytes, clean, counted, shortId } from './text.js';

export interface LineOptions {
  readonly styleOf: (server: string) => Style | undefined;
  /** How much of a checksum is shown. */
  readonly digits: number;
}

/** What happened, in a line: the same words on a terminal and off it. */
export function lineOf(happening: Happening, { styleOf, digits }: LineOptions): Line {
  if (!('server' in happening)) {
    const text = clean(happening.text);
    return happening.kind === 'warning' ? [span(`warning   ${text}`, 'yellow')] : [span(text)];
  }
  const { server } = happening;
  return [span(shortId(server), styleOf(server)), span('  '), ...words(happening, digits)];
}

function words(happening: Extract<Happening, { server: string }>, digits: number): Line {
  switch (happening.kind) {
    case 'up':
      return [span('up        beats once a second, takes files')];
    case 'beat': {
      const { beat, tasks, renewed } = happening;
      return [span(`beat      no. ${String(beat)}: ${counted(tasks, 'task')}, ${counted(renewed, 'lease')} renewed`)];
    }
    case 'taken':
      return [span(`taken     ${clean(happening.file)}`)];
    case 'held':
      return [span(`held      ${clean(happening.file)}: the other server has its lease`, 'dim')];
    case 'lost':
      return [span(`lost      ${clean(happening.file)}: its lease is gone, so nothing of it counts`, 'red')];
    case 'failed':
      return [span(`failed    ${clean(happening.file)}: ${clean(happening.why)}`, 'red')];
    case 'done': {
      const { file, size, sha256 } = happening;
      return [span('done      ', 'green'), span(`${sha256.slice(0, digits)}  ${clean(file)} (${bytes(size)})`)];
    }
    case 'draining':
      return [span(`draining  ${counted(happening.tasks, 'task')} left`, 'yellow')];
    case 'cleared':
      return [span('cleared   nothing of this server is left in the store', 'green')];
    case 'uncleared':
      return [span(`not cleared: ${clean(happening.why)}`, 'red')];
  }
}
