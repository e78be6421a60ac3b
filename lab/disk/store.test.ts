import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { DiskStore, type WriteCache } from './store.ts';

const sizeBytes = 1024 * 1024;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'disk-store-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function storeOf(writeCache: WriteCache): DiskStore {
  return new DiskStore({ path: join(directory, 'disk'), sizeBytes, writeCache, filled: false });
}

function bytes(length: number, value: number): Buffer {
  return Buffer.alloc(length, value);
}

const cached = { through: false };

test('a new disk reads as zeroes', () => {
  assert.deepEqual(storeOf('volatile').read(512, 8192), bytes(8192, 0));
});

test('a read sees cached, stored and never written blocks in one piece', () => {
  const store = storeOf('volatile');
  store.write(0, bytes(4096, 1), { through: true });
  store.write(4096 + 512, bytes(1024, 2), cached);
  const read = store.read(0, 12_288);
  const hole = bytes(512, 0);
  const expected = [bytes(4096, 1), hole, bytes(1024, 2), bytes(12_288 - 4096 - 1536, 0)];
  assert.deepEqual(read, Buffer.concat(expected));
});

test('a power cut takes back what was not flushed and keeps what was', () => {
  const store = storeOf('volatile');
  store.write(0, bytes(4096, 1), cached);
  store.flush();
  store.write(0, bytes(512, 2), cached);
  store.write(8192, bytes(512, 3), { through: true });
  assert.deepEqual(store.read(0, 512), bytes(512, 2));
  store.losePower({ kind: 'lose' });
  assert.deepEqual(store.read(0, 4096), bytes(4096, 1));
  assert.deepEqual(store.read(8192, 512), bytes(512, 3));
});

test('a write through an older cached block keeps the rest of that block', () => {
  const store = storeOf('volatile');
  store.write(0, bytes(4096, 1), cached);
  store.write(512, bytes(512, 2), { through: true });
  store.losePower({ kind: 'lose' });
  const expected = Buffer.concat([bytes(512, 1), bytes(512, 2), bytes(3072, 1)]);
  assert.deepEqual(store.read(0, 4096), expected);
});

test('a disk that keeps its writes has nothing to lose', () => {
  const store = storeOf('kept');
  store.write(4096, bytes(4096, 9), cached);
  store.losePower({ kind: 'lose' });
  assert.deepEqual(store.read(4096, 4096), bytes(4096, 9));
});

test('zeroed ranges read as zeroes, at their ragged ends too', () => {
  const store = storeOf('volatile');
  store.write(0, bytes(65_536, 7), { through: true });
  store.write(16_384, bytes(4096, 8), cached);
  store.zero(512, 40_960);
  const expected = Buffer.concat([bytes(512, 7), bytes(40_960, 0), bytes(65_536 - 41_472, 7)]);
  assert.deepEqual(store.read(0, 65_536), expected);
  store.zero(1024, 512);
  store.write(4096, bytes(512, 5), cached);
  assert.deepEqual(store.read(4096, 1024), Buffer.concat([bytes(512, 5), bytes(512, 0)]));
});

test('a seed decides what survives', () => {
  const kept = (seed: number): string => {
    const store = new DiskStore({
      path: join(directory, `seed-${seed}-${Math.random()}`),
      sizeBytes,
      writeCache: 'volatile',
      filled: false,
    });
    for (let block = 0; block < 64; block += 1) store.write(block * 4096, bytes(4096, 1), cached);
    store.losePower({ kind: 'lose-some', seed });
    return Array.from({ length: 64 }, (_, block) => store.read(block * 4096, 1)[0]).join('');
  };
  assert.equal(kept(1), kept(1));
  assert.notEqual(kept(1), kept(2));
});

test('a disk knows which writes need new space', () => {
  const store = storeOf('volatile');
  store.write(4096, bytes(4096, 1), cached);
  assert.equal(store.needsSpace(4096, 4096), false);
  assert.equal(store.needsSpace(4096, 8192), true);
  store.flush();
  store.zero(4096, 4096);
  assert.equal(store.needsSpace(4096, 4096), true);
});

test('a saved disk holds cached blocks and no discarded ones', () => {
  const store = storeOf('volatile');
  store.write(0, bytes(8192, 3), { through: true });
  store.zero(0, 4096);
  store.write(65_536, bytes(4096, 4), cached);
  const path = join(directory, 'saved');
  store.save(path);
  const saved = readFileSync(path);
  assert.equal(saved.length, sizeBytes);
  assert.deepEqual(saved, store.read(0, sizeBytes));
});
