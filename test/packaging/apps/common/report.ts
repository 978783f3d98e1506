/** Tells the test that runs this app what happens, one JSON object a line. */
export function report(event: string, details: Record<string, unknown> = {}): void {
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);
}
