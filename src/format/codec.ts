import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { TimestampSchema, type Timestamp } from '@bufbuild/protobuf/wkt';
import type { ServerIdentity, ServerInfo, WorkerInfo } from './records.js';
import {
  ServerInfoSchema,
  WorkerInfoSchema,
  type ServerInfo as ServerMessage,
  type WorkerInfo as WorkerMessage,
} from './gen/asynq_pb.js';

/** Go's zero time, 0001-01-01: what its readers take for "none". A missing timestamp would read as 1970 there. */
const ZERO_TIME_SECONDS = -62135596800n;

/** Timestamps count nanoseconds upwards from a whole second, also before 1970. */
export function timestampOf(epochMs: number | undefined): Timestamp {
  if (epochMs === undefined) return create(TimestampSchema, { seconds: ZERO_TIME_SECONDS });
  const ms = Math.floor(epochMs);
  const seconds = Math.floor(ms / 1000);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 });
}

/** The value of a server's record, in asynq's format. */
export function encodeServerInfo(server: ServerInfo, activeWorkerCount: number): Uint8Array {
  return toBinary(
    ServerInfoSchema,
    create(ServerInfoSchema, {
      host: server.host.toWellFormed(),
      pid: server.pid | 0,
      serverId: server.serverId,
      concurrency: server.concurrency,
      queues: Object.fromEntries(
        Object.entries(server.queues).map(([name, priority]) => [name.toWellFormed(), priority]),
      ),
      strictPriority: server.strictPriority,
      status: server.status,
      startTime: timestampOf(server.startedAt),
      activeWorkerCount,
    }),
  );
}

/** The value of one worker in a server's record, in asynq's format. */
export function encodeWorkerInfo(server: ServerIdentity, worker: WorkerInfo): Uint8Array {
  return toBinary(
    WorkerInfoSchema,
    create(WorkerInfoSchema, {
      host: server.host.toWellFormed(),
      pid: server.pid | 0,
      serverId: server.serverId,
      taskId: worker.id.toWellFormed(),
      taskType: worker.type.toWellFormed(),
      taskPayload: bytesOf(worker.payload),
      queue: worker.queue.toWellFormed(),
      startTime: timestampOf(worker.startedAt),
      deadline: timestampOf(worker.deadline),
    }),
  );
}

/** @throws when the bytes are no such message. */
export function decodeServerInfo(bytes: Uint8Array): ServerMessage {
  return fromBinary(ServerInfoSchema, bytes);
}

/** @throws when the bytes are no such message. */
export function decodeWorkerInfo(bytes: Uint8Array): WorkerMessage {
  return fromBinary(WorkerInfoSchema, bytes);
}

/** The bytes of a payload as the caller gave it. */
export function bytesOf(payload: Uint8Array | string | undefined): Uint8Array {
  if (payload === undefined) return new Uint8Array();
  return typeof payload === 'string' ? Buffer.from(payload.toWellFormed(), 'utf8') : payload;
}
