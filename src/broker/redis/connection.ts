import { Cluster, Redis, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';

/** ioredis's options, without the one that changes the types of its replies. */
export type SingleOptions = Omit<RedisOptions, 'replyMapping'>;

/** The nodes of a Redis Cluster to begin with, and ioredis's options for it. */
export interface ClusterConnection {
  readonly nodes: readonly ClusterNode[];
  readonly options?: ClusterOptions | undefined;
}

/** An ioredis `Redis` or `Cluster` of the app's own, of whatever copy of ioredis it was made with. */
export interface RedisClientLike {
  readonly status: string;
  duplicate(...args: never[]): unknown;
}

/** Where Redis is. */
export type RedisConnection =
  /** `redis://…`, `rediss://…`, or the path of a Unix socket. */
  | string
  /** ioredis's options, Sentinel's among them. */
  | SingleOptions
  /** Nodes of a cluster. */
  | readonly ClusterNode[]
  | ClusterConnection
  /** A client of the app's: its options are used for a connection of our own, the client itself is left alone. */
  | RedisClientLike;

/** The client that a broker opens for itself, as far as it is used here. */
export type OwnClient = Redis | Cluster;

/**
 * Opens a connection of our own. It fails fast instead of queueing: a command that waited out an outage would be sent
 * when what it says is no longer true. It tries to reconnect for as long as it lives, whatever the app chose for itself.
 *
 * @param timeout milliseconds after which a command, the handshake's among them, or an attempt to connect has failed.
 */
export function openClient(connection: RedisConnection, timeout: number): OwnClient {
  const common = {
    lazyConnect: true,
    enableOfflineQueue: false,
    // asynq's keys have no prefix: with one, nobody else would find them.
    keyPrefix: '',
  };
  const node = {
    autoResendUnfulfilledCommands: false,
    stringNumbers: false,
    commandTimeout: timeout,
    connectTimeout: timeout,
    maxRetriesPerRequest: 0,
    // What it would tell is of no use here, and a user may not be allowed to tell it.
    disableClientInfo: true,
  };
  const single: SingleOptions = {
    ...common,
    ...node,
    retryStrategy: reconnectDelay,
    // A demoted primary answers so until the connection is made anew, to the primary that Sentinel or DNS names now.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  };
  const cluster: ClusterOptions = {
    ...common,
    clusterRetryStrategy: reconnectDelay,
    slotsRefreshTimeout: timeout,
  };
  if (typeof connection === 'string') return new Redis(connection, single);
  if (isClient(connection)) return duplicate(connection, single, cluster, node);
  if (isNodeList(connection)) return new Cluster([...connection], { ...cluster, redisOptions: node });
  if (isClusterConnection(connection)) {
    const { options } = connection;
    const redisOptions: SingleOptions = { ...options?.redisOptions, ...node };
    return new Cluster([...connection.nodes], { ...options, ...cluster, redisOptions });
  }
  return new Redis({ ...connection, ...single });
}

/** All connections of a client: one, or one for each node of a cluster. */
export function nodesOf(client: OwnClient): Redis[] {
  return isCluster(client) ? client.nodes('all') : [client];
}

/** The connections through which is written. */
export function primariesOf(client: OwnClient): Redis[] {
  return isCluster(client) ? client.nodes('master') : [client];
}

export function isCluster(client: OwnClient): client is Cluster {
  return 'isCluster' in client && client.isCluster;
}

export function isClient(connection: RedisConnection): connection is RedisClientLike {
  return typeof connection === 'object' && 'duplicate' in connection && typeof connection.duplicate === 'function';
}

function isNodeList(connection: RedisConnection): connection is readonly ClusterNode[] {
  return Array.isArray(connection);
}

function isClusterConnection(connection: RedisConnection): connection is ClusterConnection {
  return typeof connection === 'object' && 'nodes' in connection && Array.isArray(connection.nodes);
}

function duplicate(client: RedisClientLike, single: SingleOptions, cluster: ClusterOptions, node: object): OwnClient {
  const theirs = client as unknown as OwnClient;
  if (!isCluster(theirs)) return theirs.duplicate(single) as OwnClient;
  const redisOptions: SingleOptions = { ...theirs.options.redisOptions, ...node };
  return theirs.duplicate([], { ...cluster, redisOptions });
}

/** Quick at first, then twice a second: a server that is not listed is a server that is not seen. */
function reconnectDelay(times: number): number {
  return Math.min(50 * times, 500);
}
