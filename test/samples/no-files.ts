import { noBytes } from '../../src/base/bytes.ts';
import type { Host } from '../../src/engine/ports.ts';

/** For hosts of tests that show no volume anywhere. */
export const noFiles: Pick<Host, 'inspect' | 'readBytes' | 'statFs' | 'changeFile' | 'onDevices'> =
  {
    onDevices: () => () => undefined,
    inspect: (path) =>
      Promise.resolve({
        ...{ path, kind: 'absent', isLink: false, number: '', mode: 0, sizeBytes: noBytes },
      }),
    readBytes: () => Promise.reject(none()),
    statFs: () => Promise.reject(none()),
    changeFile: () => Promise.reject(none()),
  };

function none(): Error {
  return new Error('this host has no files');
}
