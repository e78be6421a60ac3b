import { mkdtemp, open, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  readonly #directory: string;
  readonly #path: string;

  private constructor(directory: string) {
    this.#directory = directory;
    this.#path = join(directory, 'audit.log');
    this.flags = [
      `--audit-policy-file=${join(directory, 'policy.json')}`,
      `--audit-log-path=${this.#path}`,
    ];
  }

  static async create(): Promise<AuditLog> {
    const directory = await mkdtemp(join(tmpdir(), 'quarry-audit-'));
    await writeFile(join(directory, 'policy.json'), JSON.stringify(policy));
    return new AuditLog(directory);
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
    await rm(this.#directory, { recursive: true, force: true });
  }
}
