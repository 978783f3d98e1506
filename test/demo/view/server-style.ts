import type { Style } from './span.js';

const STYLES: readonly Style[] = ['cyan', 'magenta', 'blue'];

/** Gives each server a color, so that eyes find what belongs together. */
export function serverStyle(): (server: string) => Style | undefined {
  const known: string[] = [];
  return (server) => {
    if (!known.includes(server)) known.push(server);
    return STYLES[known.indexOf(server) % STYLES.length];
  };
}
