/** Names a few, counts the rest: a log line must stay a line however many tasks are concerned. */
export function listOf(names: readonly string[], most = 10): string {
  const shown = names.slice(0, most).map((name) => JSON.stringify(name));
  const rest = names.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${String(rest)} more` : shown.join(', ');
}
