import type { TestContext } from 'node:test';
import type { E2eStage } from '../stage.ts';

/** A story leaves nothing behind: the auditor comes after each. */
export type Story = (stage: E2eStage, t: TestContext) => Promise<void>;

/** Told one after the other; others may be told beside them. */
export type Stories = Readonly<Record<string, Story>>;

export async function sizeInMiB(stage: E2eStage, pod: string, claim: string): Promise<number> {
  const [, line = ''] = (await stage.exec(pod, `df -P -m /data/${claim}`)).split('\n');
  return Number(line.split(/\s+/)[1]);
}

export async function grownTo(stage: E2eStage, claim: string, size: string): Promise<void> {
  await stage.until(`${claim} says ${size}`, async () => {
    const { status } = await stage.boundClaim(claim);
    return status.capacity?.storage === size;
  });
}
