import { unescapeOctal } from './devices.ts';

/** One line of `/proc/1/mountinfo`. The order is that of mounting: what is stacked comes later. */
export type MountLine = {
  /** Of the device; btrfs and what is no block device have one that the kernel made up: `0:31`. */
  readonly number: string;
  /** What of the file system is mounted: `/` is all of it. */
  readonly root: string;
  readonly mountPoint: string;
  readonly isReadOnly: boolean;
  readonly fsType: string;
  readonly source: string;
  readonly isFileSystemReadOnly: boolean;
};

export function parseMountLines(output: string): readonly MountLine[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , number = '', root = '', mountPoint = '', options = ''] = before.split(' ');
      const [fsType = '', source = '', superOptions = ''] = after.split(' ');
      // After an I/O error the kernel may stop writing and still say `rw`.
      const isFileSystemReadOnly = ['ro', 'emergency_ro'].some((name) =>
        hasOption(superOptions, name),
      );
      return {
        number,
        root: unescapeOctal(root),
        mountPoint: unescapeOctal(mountPoint),
        isReadOnly: hasOption(options, 'ro') || isFileSystemReadOnly,
        fsType,
        source: unescapeOctal(source),
        isFileSystemReadOnly,
      };
    });
}

/**
 * A device node that is bound over a file, by the path it has in /dev. One that was removed
 * meanwhile ends in `//deleted`, where nothing is found.
 */
export function boundNode({ fsType, root }: MountLine): string | undefined {
  return fsType === 'devtmpfs' && root !== '/' ? `/dev${root}` : undefined;
}

function hasOption(options: string, name: string): boolean {
  return options.split(',').includes(name);
}

/** What the kernel tells of a block device, by its number. */
export function devicePaths(number: string) {
  const directory = `/sys/dev/block/${number}`;
  return {
    size: `${directory}/size`,
    dmUuid: `${directory}/dm/uuid`,
    dmName: `${directory}/dm/name`,
    suspended: `${directory}/dm/suspended`,
  };
}

/** The kernel counts in sectors of 512 bytes, whatever the device's own are. */
export const sysSectorBytes = 512n;
