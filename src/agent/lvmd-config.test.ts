import assert from 'node:assert/strict';
import test from 'node:test';
import { OperationError } from '../base/failures.ts';
import { type ConfigurationFiles, LvmdConfiguration, loadConfiguration } from './lvmd-config.ts';

const stored = {
  text: 'device-classes: [{ name: vg1, volume-group: vg1, default: true }]',
  retired: [],
};

/** A node whose file is gone, and on which no volume is used. */
const files: ConfigurationFiles = {
  readText: () => Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' })),
  readStored: async () => stored,
  writeStored: async () => undefined,
};

async function configurationOf(mayBeEmpty: boolean): Promise<LvmdConfiguration> {
  const where = { lvmdFile: 'lvmd.yaml', stateDirectory: '', mayBeEmpty };
  const host = { vgs: [], orphanPvs: [] };
  return new LvmdConfiguration(await loadConfiguration(where, () => undefined, files), {
    ...{ log: () => undefined, nowMs: () => 0 },
    look: async () => ({ host, mounts: [], made: new Map([['vg1', 'uuid-vg1']]) }),
  });
}

test('a file that somebody deleted ends no agent that writes it itself', async () => {
  const configuration = await configurationOf(true);
  assert.equal(configuration.isHopeless, false);
  await configuration.settle();
  assert.deepEqual(
    configuration.classes.map(({ name }) => name),
    ['vg1'],
  );
  assert.equal(configuration.state.state, 'stale');
});

test('where the file is an administrator’s its loss is told, and nothing is begun', async () => {
  const configuration = await configurationOf(false);
  await assert.rejects(
    configuration.settle(),
    (error) => error instanceof OperationError && /the file is missing/.test(error.message),
  );
});
