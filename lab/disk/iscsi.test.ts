import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerKeys, negotiate, parseKeys } from './iscsi-login.ts';
import { framePieces, PduReader, pduHeader } from './iscsi-pdu.ts';

test('frames are found again whatever pieces they arrive in', () => {
  const frames = [Buffer.from('abc'), Buffer.alloc(0), Buffer.from('12345678')].map((data) =>
    Buffer.concat(framePieces(pduHeader(0x01, 0x80, 7), data)),
  );
  const stream = Buffer.concat(frames);
  for (const pieceBytes of [1, 7, 48, 50, stream.length]) {
    const reader = new PduReader();
    const found: string[] = [];
    for (let at = 0; at < stream.length; at += pieceBytes) {
      for (const pdu of reader.push(stream.subarray(at, at + pieceBytes))) {
        found.push(pdu.data.toString());
      }
    }
    assert.deepEqual(found, ['abc', '', '12345678']);
  }
});

test('a login agrees on what both sides can do', () => {
  const offered = parseKeys(
    Buffer.from(
      'TargetName=iqn.x\0HeaderDigest=CRC32C,None\0ImmediateData=Yes\0InitialR2T=No\0' +
        'FirstBurstLength=262144\0MaxBurstLength=16776192\0MaxRecvDataSegmentLength=65536\0X-odd=1\0',
    ),
  );
  assert.deepEqual(Object.fromEntries(answerKeys(offered)), {
    HeaderDigest: 'None',
    ImmediateData: 'Yes',
    InitialR2T: 'No',
    FirstBurstLength: '262144',
    MaxBurstLength: '4194304',
    MaxRecvDataSegmentLength: '1048576',
    'X-odd': 'NotUnderstood',
    TargetPortalGroupTag: '1',
  });
  assert.deepEqual(negotiate(offered), {
    target: 'iqn.x',
    sendBytesMax: 65_536,
    firstBurstBytes: 262_144,
    burstBytesMax: 4_194_304,
  });
});
