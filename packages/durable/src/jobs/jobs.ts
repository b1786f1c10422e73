import type {
  AdmittedRequest,
  JobEvent,
  JSONValue,
  PluginServer,
  StoredPart,
  UserData,
} from "@sluice/worker-proxy";
import { ensure, hashText, Refusal } from "@sluice/worker-proxy/plugin";
import { job } from "../host/define.js";
import { createUserKey } from "../host/user-key.js";
import { createFollow, type Follow } from "./follow.js";
import { type OpenedResponse, openResponse } from "./open-response.js";
import type { ListedJob } from "./readings.js";
import { jobRefusal } from "./refusals.js";
import { createRun, type RunOptions } from "./run.js";
import type { JobRequest } from "./sending.js";
import type { JobDetails, StopReason } from "./states.js";
import { createJobStore, type JobStore, type StoreOptions, type TendInput } from "./store.js";
import { JOB_TABLES } from "./table.js";
import { type JobServer, type Tend, type TendContext, tendJob } from "./tend.js";
import { createUserData } from "./user-data.js";

/** Options of the jobs of a plugin. */
export interface JobsOptions extends StoreOptions, Omit<RunOptions, "store" | "tend"> {
  readonly eventKind: JobEvent["kind"];
  /** True if the responses are event streams. */
  readonly isStream: boolean;
}

/** A request that is sent once for its id. */
interface JobToSend {
  readonly id: string;
  /** The id of the job in its event. */
  readonly eventId: string;
  /** Largest number of open jobs of the user. @default any */
  readonly maxOpen?: number | undefined;
  /** True if a later request can have the same id. */
  readonly isRepeatable: boolean;
}

/** The response to a request. */
interface SentResponse extends OpenedResponse {
  /** True if an earlier request with the same id was sent. */
  readonly isReplayed: boolean;
}

/** The jobs of a plugin: requests that are sent to the gateway once, and whose responses are stored. */
export interface Jobs {
  readonly store: JobStore;
  readonly storage: StoredPart;
  readonly userData: UserData<unknown>;
  connect(server: PluginServer<never>): void;
  /** Sends a request, or returns the response that it has already. @throws {Refusal} */
  send(admitted: AdmittedRequest<unknown>, toSend: JobToSend): Promise<SentResponse>;
  /** Opens a response that is stored; undefined if there is none. @throws {Refusal} */
  open(admitted: AdmittedRequest<unknown>, follow: Follow): Promise<OpenedResponse | undefined>;
  /** Tells a job to stop. Returns false if there is none. */
  stop(env: unknown, userId: string, id: string, reason: StopReason): Promise<boolean>;
  /** Returns the code of the end of a job. */
  readEndCode(env: unknown, userId: string, id: string): Promise<string | undefined>;
  /** Lists up to 100 jobs behind an id. */
  list(env: unknown, userId: string, after: string): Promise<readonly ListedJob[]>;
}

/** Number of times that a request claims its id: a job that was lost is settled in between. */
const MAX_CLAIMS = 4;

/** Creates the jobs of a plugin. */
export function createJobs(options: JobsOptions): Jobs {
  const { kind, isStream, eventKind } = options;
  let connected: JobServer | undefined;
  const getServer = (): JobServer => {
    if (!connected) throw new Error(`${kind}: the plugin belongs to no proxy`);
    return connected;
  };
  const tend: Tend = (context, id) => tendJob(context, { store, eventKind }, getServer(), id);
  const tending = job(`${kind}.tend`, 20, (context, { id }: TendInput) => tend(context, id));
  const store: JobStore = createJobStore({ ...options, tendJob: tending });
  const run = createRun({ ...options, store, tend }, getServer);
  const follow = createFollow(store, isStream, tend);
  return {
    store,
    storage: {
      tables: JOB_TABLES,
      operations: store.operations,
      jobs: [tending, run] as never,
      sources: [follow] as never,
    },
    userData: createUserData({ store, follow, tend, open }),
    connect(server) {
      ensure(!connected, `${kind}: their plugin belongs to one proxy; make another one`);
      connected = server as unknown as JobServer;
    },
    send,
    async open({ env, user, request }, input) {
      const { host, key } = await open(env, user.id);
      return openResponse(await host.open(key, follow, { ...input }), request.signal);
    },
    async stop(env, userId, id, reason) {
      const { host, key } = await open(env, userId);
      return host.run(key, store.stop, { id, reason });
    },
    async readEndCode(env, userId, id) {
      const { host, key } = await open(env, userId);
      return (await host.run(key, store.status, { id }))?.code;
    },
    async list(env, userId, after) {
      const { host, key } = await open(env, userId);
      return host.run(key, store.list, { after });
    },
  };

  async function open(env: unknown, userId: string): Promise<TendContext> {
    return { host: getServer().host(env), key: await createUserKey(userId), env };
  }

  async function send(admitted: AdmittedRequest<unknown>, toSend: JobToSend): Promise<SentResponse> {
    const { env, user, path, body, request } = admitted;
    const { id, maxOpen = null } = toSend;
    // the proxy's own name for the user differs after a change of its secret
    const [context, fingerprint] = await Promise.all([
      open(env, user.id),
      hashText(JSON.stringify([path, { ...body, user_id: undefined }])),
    ]);
    const { host, key } = context;
    for (let claims = 0; claims < MAX_CLAIMS; claims += 1) {
      const job = readRequest(admitted, toSend);
      const { owner, details } = job;
      const claim = { id, owner, fingerprint, details: { ...details }, maxOpen };
      const claimed = await host.run(key, store.claim, claim);
      if (claimed === "different") throw jobRefusal("idempotency_mismatch");
      if (claimed === "full")
        throw new Refusal("too_many_streams", {
          limit: "maxStreamsPerUser",
          what: 1,
          headers: { "retry-after": "1" },
        });
      if (claimed === "crowded")
        throw jobRefusal("too_many_keys", { what: options.maxJobs ?? 0, headers: { "retry-after": "3600" } });
      if (claimed === "stale") {
        await settleStale(context, id);
        continue;
      }
      if (claimed === "claimed") {
        try {
          // its body and its user are JSON, which their types don't say
          await host.start<JSONValue>(key, run as never, job as never);
        } catch (cause) {
          // the job may have begun although its start failed
          if (await freeUnsent(context, id, owner)) throw jobRefusal("job_unavailable", { cause });
        }
      }
      const input: Follow = { id, mode: "response", after: 0, owner };
      const stream = await host.open(key, follow, { ...input }).catch(async (error: unknown) => {
        // no other request can read this response, so it must not cost anything
        if (claimed === "claimed" && !(await freeUnsent(context, id, owner)) && !toSend.isRepeatable)
          await host.run(key, store.stop, { id, reason: "orphaned" }).catch(() => {});
        throw error;
      });
      const opened = await openResponse(stream, request.signal);
      // one that cost nothing has freed the id meanwhile
      if (opened) return { ...opened, isReplayed: claimed === "known" };
    }
    throw jobRefusal("job_unavailable");
  }

  /** Frees the id of a job that has not begun. Returns false for a job that goes on. */
  async function freeUnsent({ host, key }: TendContext, id: string, owner: string): Promise<boolean> {
    return host.run(key, store.free, { id, owner, isSettled: true, isUnsent: true }).catch(() => true);
  }

  async function settleStale(context: TendContext, id: string): Promise<void> {
    try {
      await tend(context, id);
    } catch (cause) {
      throw new Refusal("budget_unavailable", { problem: `${kind}: a lost job could not be settled`, cause });
    }
  }
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Returns the key of a request; null if it has none. @throws {Refusal} */
export function readKey({ headers }: Request): string | null {
  const key = headers.get("idempotency-key");
  if (key !== null && !KEY.test(key)) throw jobRefusal("idempotency_key_invalid");
  return key;
}

/** Returns the part of an admitted request that its job needs. */
function readRequest(admitted: AdmittedRequest<unknown>, { id, eventId }: JobToSend): JobRequest {
  const { user, route, path, model, body = {}, headers = {} } = admitted;
  const requestId = headers["x-request-id"];
  const details: JobDetails = {
    eventId,
    user: user.id,
    startedAt: Date.now(),
    ...(requestId !== undefined && { requestId }),
    ...(model !== undefined && { model }),
  };
  return { id, owner: crypto.randomUUID(), details, user, route, path, headers, body };
}
