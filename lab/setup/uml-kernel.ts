import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { findDebianSource, PackageSource } from './apt.ts';
import { type Entry, ensureEntry, type Progress } from './entry.ts';

/**
 * The UML kernels of Debian 12 and 13 crash on CPUs with large register state at the first
 * process; the ones of testing and sid (7.2um1 when this was written) do not.
 */
const suites = ['testing', 'sid'] as const;
const recipeRevision = 1;

/** `<entry>/usr/bin/linux.uml` and `<entry>/usr/lib/uml/modules/<release>`. */
export function ensureUmlKernel(progress: Progress): Promise<Entry> {
  return ensureEntry(
    {
      name: 'uml',
      inputs: { suites, recipeRevision },
      announce: 'fetching the user-mode Linux kernel',
      build: async (directory) => {
        const source = await findDebianSource();
        const packages = new PackageSource(directory);
        const failures: string[] = [];
        for (const suite of suites) {
          try {
            await packages.open(source, suite);
            const version = await packages.unpack('user-mode-linux', directory);
            await packages.close();
            await access(join(directory, 'usr/bin/linux.uml'));
            return { 'user-mode-linux': version, suite };
          } catch (error) {
            failures.push(`${suite}: ${String(error)}`);
          }
        }
        throw new Error(`no user-mode Linux kernel found\n${failures.join('\n')}`);
      },
    },
    progress,
  );
}
