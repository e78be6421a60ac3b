import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { runCommand } from '../host/command.ts';

const module = 'github.com/kubernetes-csi/external-snapshotter/client/v8';

/**
 * The kinds of snapshots, as their authors publish them, from the Go module that is pinned for the
 * lab. Their controller is not built: in the demo our operator does its work.
 */
export async function copySnapshotKinds(directory: string): Promise<void> {
  const cwd = join(projectDirectory, 'lab/snapshots');
  const download = ['go', 'mod', 'download', '-json', module];
  const said = await runCommand(download, { cwd }).catch((cause: unknown) => {
    throw new Error('the kinds of snapshots come from a Go module, by Go 1.26 or newer', { cause });
  });
  const { Dir: source } = JSON.parse(said) as { readonly Dir: string };
  const from = join(source, 'config/crd');
  const names = (await readdir(from)).filter((name) => name.startsWith('snapshot.storage.'));
  if (names.length === 0) throw new Error(`${from} has no kinds of snapshots`);
  await mkdir(directory, { recursive: true });
  for (const name of names) await copyFile(join(from, name), join(directory, name));
}
