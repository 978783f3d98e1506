import { toBinary } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import {
  decodeServerInfo,
  decodeWorkerInfo,
  encodeServerInfo,
  encodeWorkerInfo,
  timestampOf,
} from '../../src/format/codec.js';
import { leaseKey, serverKey, workersKey } from '../../src/format/keys.js';
import type { ServerInfo } from '../../src/index.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const timestampHex = (ms: number | undefined): string => hex(toBinary(TimestampSchema, timestampOf(ms)));

const server: ServerInfo = {
  host: 'h',
  pid: 4242,
  serverId: 'sid',
  concurrency: 10,
  queues: { default: 1 },
  strictPriority: false,
  status: 'active',
  startedAt: 1_700_000_000_123,
};

const worker = {
  id: 'tid',
  type: 'email:send',
  queue: 'default',
  payload: '{"a":1}',
  startedAt: 1_700_000_000_000,
  deadline: 1_700_001_800_000,
};

/** All bytes here were written by Go's protobuf runtime. */
describe('asynq’s format', () => {
  it('writes timestamps as Go does', () => {
    expect(timestampHex(undefined)).toBe('088092b8c398feffffff01');
    expect(timestampHex(0)).toBe('');
    expect(timestampHex(-500)).toBe('08ffffffffffffffffff011080cab5ee01');
    expect(timestampOf(1_700_000_000_123)).toMatchObject({ seconds: 1_700_000_000n, nanos: 123_000_000 });
  });

  it('writes a server as Go does', () => {
    expect(hex(encodeServerInfo(server, 1))).toBe(
      '0a01681092211a03736964200a2a0b0a0764656661756c7410013a06616374697665420b0880e2cfaa0610c0a9d33a4801',
    );
  });

  it('writes a map entry whole, even where it is zero', () => {
    const bytes = encodeServerInfo({ ...server, queues: { a: 0 } }, 1);
    expect(hex(bytes)).toContain('2a050a01611000');
  });

  it('writes the submessage of a zero timestamp', () => {
    expect(hex(encodeServerInfo({ ...server, startedAt: 0 }, 0))).toContain('4200');
  });

  it('writes a worker as Go does', () => {
    expect(hex(encodeWorkerInfo(server, worker))).toBe(
      '0a01681092211a0373696422037469642a0a656d61696c3a73656e6432077b2261223a317d3a0764656661756c7442060880e2cfaa064a060888f0cfaa06',
    );
  });

  it('writes "no deadline" as Go’s zero time, not as 1970', () => {
    const { deadline } = decodeWorkerInfo(encodeWorkerInfo(server, { ...worker, deadline: undefined }));
    expect(deadline).toMatchObject({ seconds: -62_135_596_800n, nanos: 0 });
  });

  it('carries payloads as bytes', () => {
    const payload = Uint8Array.from([0, 255, 128, 10]);
    expect(hex(decodeWorkerInfo(encodeWorkerInfo(server, { ...worker, payload })).taskPayload)).toBe('00ff800a');
  });

  it('repairs strings that are not well-formed', () => {
    const queues = { 'q\udfff': 3 };
    const info = decodeServerInfo(encodeServerInfo({ ...server, host: 'h\ud800', queues }, 0));
    expect(info).toMatchObject({ host: 'h\ufffd', queues: { 'q\ufffd': 3 } });
    const read = decodeWorkerInfo(
      encodeWorkerInfo(server, { ...worker, id: '\ud800', type: '\ud800', payload: '\ud800' }),
    );
    expect(read).toMatchObject({ taskId: '\ufffd', taskType: '\ufffd' });
    expect(Buffer.from(read.taskPayload).toString()).toBe('\ufffd');
  });

  it('writes a pid beyond int32 as Go does, and whole into the key', () => {
    const pid = 2 ** 32 + 7;
    expect(decodeServerInfo(encodeServerInfo({ ...server, pid }, 0)).pid).toBe(7);
    expect(serverKey({ ...server, pid })).toBe('asynq:servers:{h:4294967303:sid}');
  });

  it('names keys as asynq does', () => {
    expect(serverKey(server)).toBe('asynq:servers:{h:4242:sid}');
    expect(workersKey(server)).toBe('asynq:workers:{h:4242:sid}');
    expect(leaseKey('default')).toBe('asynq:{default}:lease');
  });
});
