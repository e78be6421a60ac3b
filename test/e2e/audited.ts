import { type TestContext, test } from 'node:test';

type Story = (name: string, tell: (t: TestContext) => void | Promise<void>) => void;

/** Stories at whose end nothing is leaked, lost or stuck. */
export function auditedBy(auditor: () => { audit(): Promise<void> }): Story {
  return (name, tell) => {
    test(name, async (t) => {
      await tell(t);
      await auditor().audit();
    });
  };
}
