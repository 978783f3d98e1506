import { format } from 'prettier';
import { OPTION_TABLE } from '../../src/heartbeat.options.js';

/** The README's table of options, as it follows from the code. */
export async function optionsTable(): Promise<string> {
  const rows = Object.entries(OPTION_TABLE).map(
    ([name, { defaultText, rule, doc }]) => `| \`${name}\` | ${defaultText} | ${doc} | ${rule} |`,
  );
  const table = ['| option | default | what it is | rule |', '| --- | --- | --- | --- |', ...rows].join('\n');
  return format(table, { parser: 'markdown' });
}
