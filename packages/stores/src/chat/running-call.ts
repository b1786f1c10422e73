import type { Client, ThreadFile, ToolContext } from "@sluice/core";
import { within } from "@sluice/core/internal";
import { isFile } from "./files.js";
import { problemOf, type ThreadMessage, type ThreadToolCall } from "./message.js";
import type { Thread } from "./message-tree.js";

/** Longest time that a tool waits until what it keeps is written, in milliseconds. */
const WRITE_MS = 500;

/** Parts of a turn that a running call changes. */
export interface RunningCallContext {
  readonly client: Client;
  readonly thread: Thread;
  /** Aborts when the turn ends. */
  readonly signal: AbortSignal;
  readonly onChange: () => void;
  /** Writes the thread; undefined without a storage. */
  readonly written: () => Promise<unknown> | undefined;
}

/** Functions by which a running tool changes its message. After the end of its call they change nothing. */
export type RunningCall = Pick<ToolContext, "kept" | "keep" | "progress" | "show">;

/** Creates the functions for the call at `place` of the message `id`. */
export function createRunningCall(
  { client, thread, signal, onChange, written }: RunningCallContext,
  id: string,
  place: number,
): RunningCall {
  return {
    kept: thread.node(id)?.message.toolCalls?.[place]?.kept,
    async keep(kept) {
      const problem = kept === undefined ? "it is undefined" : problemOf(kept);
      if (problem) throw new TypeError(`keep(): the value does not fit into JSON: ${problem}`);
      changeCall({ kept });
      const writing = written();
      if (writing) await within(client.clock, WRITE_MS, writing, "the storage").catch(() => {});
    },
    progress(share) {
      changeCall({ progress: Math.min(1, Math.max(0, share)) });
    },
    show(file) {
      if (!isFile(file))
        throw new TypeError("show(): give { type, url }, with an http(s) address or a data URL");
      change((message) => withFile(message, file));
    },
  };

  function changeCall(fields: Partial<ThreadToolCall>): void {
    change((message) => ({
      ...message,
      toolCalls: message.toolCalls?.map((call, nth) => (nth === place ? { ...call, ...fields } : call)) ?? [],
    }));
  }

  function change(edit: (message: ThreadMessage) => ThreadMessage): void {
    const message = thread.node(id)?.message;
    if (signal.aborted || message?.toolCalls?.[place]?.state !== "running") return;
    thread.put(edit(message));
    onChange();
  }
}

/** Adds a file, unless the message has it: a call that runs again may show it again. */
function withFile(message: ThreadMessage, { type, url }: ThreadFile): ThreadMessage {
  const { images = [], files = [] } = message;
  if (type.startsWith("image/"))
    return images.includes(url) ? message : { ...message, images: [...images, url] };
  return files.some((file) => file.url === url) ? message : { ...message, files: [...files, { type, url }] };
}

/** Ends a call: what it has kept stays where it has no output. */
export function withoutRun(ended: ThreadToolCall, { kept }: ThreadToolCall): ThreadToolCall {
  const { kept: _, progress: _progress, ...rest } = ended;
  return ended.state === "done" || kept === undefined ? rest : { ...rest, kept };
}
