/** The {@link Clock} of the module: override it to drive time from a test. */
export const HEARTBEAT_CLOCK = Symbol('HEARTBEAT_CLOCK');
/** The {@link HostProcess} of the module: host name, pid, ids and randomness. */
export const HEARTBEAT_HOST_PROCESS = Symbol('HEARTBEAT_HOST_PROCESS');
/** The {@link ResolvedHeartbeatOptions} of the module. */
export const HEARTBEAT_OPTIONS = Symbol('HEARTBEAT_OPTIONS');
