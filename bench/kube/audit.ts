import { open, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createScratchDirectory, type ScratchDirectory } from '../../lab/host/owned.ts';
import type { Writes } from './figures.ts';

type Entry = {
  readonly user?: { readonly username?: string };
  readonly objectRef?: { readonly resource?: string };
};

const policy = {
  ...{ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'] },
  rules: [
    { level: 'Metadata', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
    { level: 'None' },
  ],
};

/** The API server's own book of who wrote what, refused requests included. */
export class AuditLog {
  readonly flags: readonly string[];
  readonly #scratch: ScratchDirectory;
  readonly #path: string;

  private constructor(scratch: ScratchDirectory) {
    this.#scratch = scratch;
    this.#path = join(scratch.path, 'audit.log');
    this.flags = [
      `--audit-policy-file=${join(scratch.path, 'policy.json')}`,
      `--audit-log-path=${this.#path}`,
    ];
  }

  static async create(): Promise<AuditLog> {
    const scratch = await createScratchDirectory('quarry-audit-');
    await writeFile(join(scratch.path, 'policy.json'), JSON.stringify(policy));
    return new AuditLog(scratch);
  }

  /** Marks a moment. */
  async now(): Promise<number> {
    return (await stat(this.#path)).size;
  }

  /** What service accounts of a namespace have written since, by resource. */
  async since(moment: number, namespace: string): Promise<Writes> {
    const file = await open(this.#path);
    const counts: Record<string, number> = {};
    try {
      for await (const line of file.readLines({ start: moment })) {
        const { user, objectRef } = JSON.parse(line) as Entry;
        if (user?.username?.startsWith(`system:serviceaccount:${namespace}:`) !== true) continue;
        const resource = objectRef?.resource ?? 'other';
        counts[resource] = (counts[resource] ?? 0) + 1;
      }
    } finally {
      await file.close();
    }
    return counts;
  }

  async remove(): Promise<void> {
    await this.#scratch.remove();
  }
}
