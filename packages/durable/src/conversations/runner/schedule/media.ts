import {
  type Client,
  type ImageToolOptions,
  imageTool,
  type ThreadFile,
  type VideoToolOptions,
  videoTool,
} from "@sluice/core";
import { endOf, endOfTurn, errorRecordOf, type TurnEnd } from "../end.js";
import type { RunPlace } from "../place.js";
import { change, changedRecord, type KeptMessage, LEAF, messageIn, SERVER } from "../records.js";
import type { MadeMedia, OpenTurn, TurnRows } from "../rows.js";
import { openRunClient } from "../run-client.js";
import type { Work, WorkOptions } from "../work.js";

/**
 * Makes an image or a video in the place of an answer. Its key is stored before the request leaves, so that a process that
 * is lost buys nothing twice: with `once` the next one gets the same image, and a video task is polled on.
 */
export function startMedia<Env>(
  options: WorkOptions<Env> & { readonly rows: TurnRows; readonly made: MadeMedia },
): Work {
  const { place, setup, turn, onTip, rows, made } = options;
  const stopping = new AbortController();
  let aliveAt = Date.now();
  let isDropped = false;
  const alive = () => {
    aliveAt = Date.now();
    return undefined;
  };
  const { client, way, hide } = openRunClient(place, setup, turn, alive);
  const done = work();
  return {
    get aliveAt() {
      return aliveAt;
    },
    done,
    stop: () => stopping.abort(),
    react() {},
    drop() {
      isDropped = true;
      stopping.abort();
    },
    removed(ids) {
      if (ids.includes(answerIdOf(turn))) stopping.abort();
    },
  };

  async function work(): Promise<TurnEnd | undefined> {
    // `done` is there before anything happens
    await undefined;
    if (stopping.signal.aborted) return endOf("stopped");
    const { id, message } = answerOf(place, turn);
    if (message.outcome !== undefined) return endOf(message.outcome);
    onTip(id);
    if (isLost(made)) return endOf("interrupted");
    const files: ThreadFile[] = [];
    try {
      await run(files);
      await place.room(JSON.stringify(files).length * 2);
      end({ outcome: "complete", ...filesOf(files) });
      return endOf("complete");
    } catch (cause) {
      if (stopping.signal.aborted) {
        end({ outcome: "stopped" });
        return endOf("stopped");
      }
      const error = hide(errorRecordOf(cause));
      end({ outcome: "error", error });
      const outcome = error["outcome"] === "not-sent" ? "not-sent" : "error";
      const { error: _, ...told } = endOfTurn({ outcome, error: error as unknown as Error });
      return told;
    }
  }

  /** Writes the end of the answer, unless it was removed. */
  function end(fields: Partial<KeptMessage>): void {
    const record = isDropped ? undefined : messageIn(place.read(answerIdOf(turn)));
    if (record) place.write(change(answerIdOf(turn), hide(changedRecord(record, fields))));
  }

  async function run(files: ThreadFile[]): Promise<void> {
    const tool = toolOf(client, made);
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new Error(`no result after ${tool.timeoutMs} ms`)),
      tool.timeoutMs,
    );
    const signal = AbortSignal.any([stopping.signal, late.signal]);
    const begun = made.kept ?? (way.keepsCreates ? newKey() : undefined);
    if (begun !== made.kept) await keep(begun);
    try {
      await tool.execute?.(
        { prompt: made.prompt },
        {
          signal,
          toolCallId: turn.id,
          messages: [],
          kept: begun,
          keep,
          progress: alive,
          show: (file) => void files.push(file),
        },
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stores how the request goes on. It is stored before the request leaves. */
  async function keep(kept: unknown): Promise<void> {
    stopping.signal.throwIfAborted();
    const open = rows.open();
    if (open?.id === turn.id) rows.keep({ ...open, tries: 0, made: { ...made, kept } });
    await place.state.storage.sync();
  }
}

/** Makes the progress of a request whose proxy remembers its key: it can be sent again. */
function newKey(): object {
  return { key: crypto.randomUUID(), at: Date.now(), isOnce: true };
}

/** True for a request that a process has sent which is gone, and that can't be sent again without a second bill. */
function isLost({ kept }: MadeMedia): boolean {
  const { isOnce, handle } = {
    ...(kept as { readonly isOnce?: boolean; readonly handle?: object } | undefined),
  };
  return kept !== undefined && !isOnce && !handle;
}

function answerIdOf({ id }: OpenTurn): string {
  return `${id}.made`;
}

/** Returns the answer that the image or video belongs to; one that begins is written. */
function answerOf({ read, write }: Pick<RunPlace, "read" | "write">, turn: OpenTurn) {
  const id = answerIdOf(turn);
  const known = messageIn(read(id));
  if (known) return { id, message: known.message };
  const message = { id, role: "assistant", content: "", createdAt: Date.now() } as const;
  const record = { message, parent: turn.below, revision: 0, by: SERVER };
  write(
    new Map<string, unknown>([
      [id, record],
      [LEAF, id],
    ]),
  );
  return { id, message: message as KeptMessage };
}

/** The tool has the request, its billing and the polling, as in a chat that calls it. */
function toolOf(client: Client, { kind, model, params = {} }: MadeMedia) {
  // checked when the schedule was made, by the schema of its model
  if (kind === "image") return imageTool(client, { model, params } as ImageToolOptions);
  return videoTool(client, { model, params } as VideoToolOptions);
}

function filesOf(files: readonly ThreadFile[]): Pick<KeptMessage, "images" | "files"> {
  const images = files.filter(({ type }) => type.startsWith("image/")).map(({ url }) => url);
  const others = files.filter(({ type }) => !type.startsWith("image/"));
  return { ...(images.length > 0 && { images }), ...(others.length > 0 && { files: others }) };
}
