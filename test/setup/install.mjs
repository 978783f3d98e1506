/**
 * Makes sure that node_modules holds what package-lock.json asks for, so that `npm test` works on a fresh clone.
 * Uses only what Node itself brings, because there may be no node_modules yet.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const oldestNode = [20, 19];

function fail(message) {
  console.error(message);
  process.exit(1);
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    fail(`Node ${oldestNode.join('.')} or newer is needed, this is ${process.versions.node}.`);
  }
}

/** The packages of a lockfile by folder, or undefined when there is no such file or it is damaged. */
function lockedPackages(path) {
  try {
    const { packages } = JSON.parse(readFileSync(path, 'utf8'));
    return typeof packages === 'object' && packages !== null ? packages : undefined;
  } catch {
    return undefined;
  }
}

const isSame = (one, other) => one?.version === other?.version && one?.integrity === other?.integrity;

/**
 * Why an install is needed, or undefined when it is not. npm writes node_modules/.package-lock.json as the last
 * step of an install, so an interrupted one counts as missing.
 */
function reasonToInstall() {
  const wanted = lockedPackages(join(root, 'package-lock.json'));
  if (wanted === undefined) fail('package-lock.json is missing or damaged: restore it from version control.');
  const installed = lockedPackages(join(root, 'node_modules', '.package-lock.json'));
  if (installed === undefined) return 'there is no complete node_modules';

  for (const [folder, entry] of Object.entries(wanted)) {
    // '' is the project itself; an optional package may be for another platform.
    const mayBeAbsent = folder === '' || entry.optional === true;
    if (!isSame(entry, installed[folder]) && !(mayBeAbsent && installed[folder] === undefined)) {
      return `node_modules does not match package-lock.json (${folder})`;
    }
  }
  const surplus = Object.keys(installed).find((folder) => wanted[folder] === undefined);
  return surplus && `node_modules does not match package-lock.json (${surplus} is not in it)`;
}

function npmCi() {
  // Development packages are what this is for, even where NODE_ENV=production makes npm leave them out.
  const args = ['ci', '--no-audit', '--no-fund', '--include=dev'];
  // stdout stays free for the command that runs after this one.
  const options = { cwd: root, stdio: ['ignore', 2, 2] };
  const runningNpm = process.env.npm_execpath;
  // The npm that runs this script, when there is one; else the one on the PATH, a batch file on Windows.
  return runningNpm !== undefined && basename(runningNpm) === 'npm-cli.js'
    ? spawnSync(process.execPath, [runningNpm, ...args], options)
    : spawnSync('npm', args, { ...options, shell: process.platform === 'win32' });
}

requireNode();
const reason = reasonToInstall();
if (reason !== undefined) {
  console.error(`Installing dependencies: ${reason}.`);
  const { status, signal, error } = npmCi();
  if (status !== 0) fail(`npm ci failed (${error?.message ?? signal ?? `exit code ${status}`}): see its output above.`);
}
