import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { stripedGroup } from './driver.ts';
import { type FioRow, type Job, jobs } from './figures.ts';
import type { Parties } from './latency.ts';
import { group } from './peers.ts';

const runFile = promisify(execFile);
const volumeBytes = 256 * 1024 ** 2;
const seconds = 1;

/** The I/O of volumes beside that of a raw disk: nothing of ours stands in its way. */
export async function measureIo(
  { driver, lvmd }: Parties,
  rawDisk: string,
  rounds: number,
): Promise<readonly FioRow[]> {
  const ours = async (className: 'thick' | 'striped' | 'thin') => {
    const vg = className === 'striped' ? stripedGroup : group;
    return `/dev/${vg}/${await driver.create(className, `io-${className}`, volumeBytes)}`;
  };
  const lvmdVolume = 'io-lvmd';
  await lvmd.create('thick', lvmdVolume, volumeBytes);
  const targets = [
    { target: 'raw disk', path: rawDisk },
    { target: 'thick', path: await ours('thick') },
    { target: 'striped over two disks', path: await ours('striped') },
    { target: 'thin', path: await ours('thin') },
    { target: 'thick, made by lvmd', path: `/dev/${group}/${lvmdVolume}` },
  ].map((one) => ({ ...one, iops: { randread: [], randwrite: [], read: [], write: [] } as Iops }));
  // Blocks that were never written would be read from nowhere, and a thin pool would allocate.
  for (const { path } of targets) await fio(path, ['--name=fill', '--rw=write', '--bs=1M']);
  for (let round = 0; round < rounds; round += 1) {
    for (const { path, iops } of targets) {
      for (const { job, value } of await measure(path)) iops[job].push(value);
    }
  }
  return targets.map(({ target, iops }) => ({ target, iops }));
}

type Iops = Record<Job, number[]>;

async function measure(path: string) {
  const timed = ['--time_based', `--runtime=${seconds}`];
  const options = jobs.flatMap((job) => {
    const size = job.startsWith('rand') ? '4k' : '1M';
    return [`--name=${job}`, `--rw=${job}`, `--bs=${size}`, '--stonewall', ...timed];
  });
  const found = await fio(path, options);
  return jobs.map((job) => {
    const result = found.find(({ jobname }) => jobname === job);
    const value = (job.endsWith('read') ? result?.read : result?.write)?.iops ?? 0;
    if (value === 0) throw new Error(`fio did nothing for ${job} on ${path}`);
    return { job, value };
  });
}

type FioJob = {
  readonly jobname: string;
  readonly read: { readonly iops: number };
  readonly write: { readonly iops: number };
};

async function fio(path: string, options: readonly string[]): Promise<readonly FioJob[]> {
  // What is said before the first name counts for every job. User-mode Linux has no io_uring.
  const all = [`--filename=${path}`, '--direct=1', '--ioengine=psync', `--size=${volumeBytes}`];
  const { stdout } = await runFile('fio', ['--output-format=json', ...all, ...options], {
    maxBuffer: 16 * 1024 ** 2,
  });
  return (JSON.parse(stdout) as { readonly jobs: readonly FioJob[] }).jobs;
}
