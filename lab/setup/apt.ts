import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
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

/**
 * Downloads packages of another suite and unpacks them into `directory`, with apt's signature
 * checks but without touching the machine's own apt state. Hands back the versions.
 */
export async function unpackPackages(request: {
  readonly source: DebianSource;
  readonly suite: string;
  readonly packages: readonly string[];
  readonly directory: string;
}): Promise<Readonly<Record<string, string>>> {
  const state = join(request.directory, 'apt');
  await mkdir(join(state, 'lists/partial'), { recursive: true });
  await mkdir(join(state, 'archives/partial'), { recursive: true });
  const list = join(state, 'sources.list');
  await writeFile(list, `${oneLineSource(request.source, request.suite)}\n`);
  const apt = [
    'apt-get',
    ...['-o', `Dir::Etc::sourcelist=${list}`],
    ...['-o', 'Dir::Etc::sourceparts=-'],
    ...['-o', `Dir::State::lists=${state}/lists`],
    ...['-o', `Dir::Cache=${state}`],
    // apt's own user cannot write below a private cache directory.
    ...['-o', 'APT::Sandbox::User=root'],
    ...['-o', 'Acquire::Languages=none'],
    ...['-o', 'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false'],
  ];
  await runCommand([...apt, 'update']);
  await runCommand([...apt, 'download', ...request.packages], { cwd: state });
  const versions: Record<string, string> = {};
  for (const file of (await readdir(state)).filter((name) => name.endsWith('.deb'))) {
    const archive = join(state, file);
    const fields = await runCommand(['dpkg-deb', '--field', archive, 'Package', 'Version']);
    const name = /^Package: (.+)$/m.exec(fields)?.[1];
    const version = /^Version: (.+)$/m.exec(fields)?.[1];
    if (name !== undefined && version !== undefined) versions[name] = version;
    await runCommand(['dpkg-deb', '--extract', archive, request.directory]);
  }
  await runCommand(['rm', '-rf', state]);
  return versions;
}
