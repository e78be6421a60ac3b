import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../host/command.ts';

/** Where this machine gets Debian from. No address is written in the project. */
export type DebianSource = { readonly uri: string; readonly signedBy: string | undefined };

/** Reads the machine's own apt configuration, in both of its spellings. */
export async function findDebianSource(): Promise<DebianSource> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const codename = /^VERSION_CODENAME="?([^"\n]+)/m.exec(release)?.[1];
  if (codename === undefined || !/^ID="?debian/m.test(release)) {
    throw new Error('the lab is set up from Debian packages, and this machine is not Debian');
  }
  const files = [
    '/etc/apt/sources.list',
    ...(await readdir('/etc/apt/sources.list.d').catch(() => [])).map(
      (name) => `/etc/apt/sources.list.d/${name}`,
    ),
  ];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const sources = file.endsWith('.sources') ? parseDeb822(text) : parseOneLine(text);
    const found = sources.find(({ suites }) => suites.includes(codename));
    if (found !== undefined) return { uri: found.uri, signedBy: found.signedBy };
  }
  throw new Error(`no apt source for ${codename} in ${files.join(', ')}`);
}

type ParsedSource = DebianSource & { readonly suites: readonly string[] };

export function parseDeb822(text: string): readonly ParsedSource[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const field = (name: string): string | undefined =>
      new RegExp(`^${name}:[ \\t]*(.+)$`, 'im').exec(stanza)?.[1]?.trim();
    const types = field('Types')?.split(/\s+/) ?? [];
    const uri = field('URIs')?.split(/\s+/)[0];
    if (!types.includes('deb') || uri === undefined || field('Enabled') === 'no') return [];
    const signedBy = field('Signed-By');
    return [
      {
        uri,
        // A key written into the stanza itself is not a path; apt's own keyring then has to do.
        signedBy: signedBy?.startsWith('/') ? signedBy : undefined,
        suites: field('Suites')?.split(/\s+/) ?? [],
      },
    ];
  });
}

export function parseOneLine(text: string): readonly ParsedSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)/.exec(line);
    const [, options, uri, suite] = match ?? [];
    if (uri === undefined || suite === undefined) return [];
    const signedBy = /signed-by=(\S+)/.exec(options ?? '')?.[1];
    return [{ uri, signedBy, suites: [suite] }];
  });
}

export function oneLineSource(source: DebianSource, suite: string): string {
  const options = source.signedBy === undefined ? '' : `[signed-by=${source.signedBy}] `;
  return `deb ${options}${source.uri} ${suite} main`;
}

/** Packages of any suite, with apt's signature checks but without the machine's apt state. */
export class PackageSource {
  readonly #state: string;
  readonly #options: readonly string[];

  constructor(directory: string) {
    this.#state = join(directory, 'apt');
    this.#options = [
      ...['-o', `Dir::Etc::sourcelist=${this.#state}/sources.list`],
      ...['-o', 'Dir::Etc::sourceparts=-'],
      ...['-o', `Dir::State::lists=${this.#state}/lists`],
      ...['-o', `Dir::Cache=${this.#state}`],
      // apt's own user cannot write below a private cache directory.
      ...['-o', 'APT::Sandbox::User=root'],
      ...['-o', 'Acquire::Languages=none'],
      ...['-o', 'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false'],
    ];
  }

  async open(source: DebianSource, suite: string): Promise<void> {
    await mkdir(join(this.#state, 'lists/partial'), { recursive: true });
    await mkdir(join(this.#state, 'archives/partial'), { recursive: true });
    await writeFile(join(this.#state, 'sources.list'), `${oneLineSource(source, suite)}\n`);
    await runCommand(['apt-get', ...this.#options, 'update']);
  }

  async close(): Promise<void> {
    await rm(this.#state, { recursive: true, force: true });
  }

  /** The packages a package depends on, which is all that a name without a version is for. */
  async dependenciesOf(name: string): Promise<readonly string[]> {
    const shown = await runCommand(['apt-cache', ...this.#options, 'depends', name]);
    return [...shown.matchAll(/^\s*Depends: (\S+)/gm)].flatMap(([, found]) => found ?? []);
  }

  /** Downloads and unpacks without installing. Hands back the version. */
  async unpack(name: string, directory: string): Promise<string> {
    await runCommand(['apt-get', ...this.#options, 'download', name], { cwd: this.#state });
    const file = (await readdir(this.#state)).find((entry) => entry.startsWith(`${name}_`));
    if (file === undefined) throw new Error(`apt downloaded no ${name}`);
    const archive = join(this.#state, file);
    await runCommand(['dpkg-deb', '--extract', archive, directory]);
    return (await runCommand(['dpkg-deb', '--field', archive, 'Version'])).trim();
  }
}
