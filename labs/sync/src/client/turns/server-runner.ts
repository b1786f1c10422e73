import { toError } from "@sluice/core/extend";
import type { ChatStore, ChatTurn, TurnRunner } from "@sluice/stores";
import { type Chat, createUnsentTurn, findVersionPoint } from "@sluice/stores/extend";
import { createStoppedError, getLastMessage, getStopSignal, type ReadOptions } from "../base.js";

/** Makes the verbs that hand turns over. Their code is loaded with the first one. */
function serverVerbsOf(chat: Chat, read: ReadOptions, verbs: ChatStore): Partial<ChatStore> {
  const turns = () => import("./server-turns.js").then(({ serverTurns }) => serverTurns(chat, read));
  type Turns = Awaited<ReturnType<typeof turns>>;
  const handOver = (act: (turns: Turns) => ChatTurn | Promise<ChatTurn>) => {
    const signal = getStopSignal(chat);
    return chat.storage.whenReady(() =>
      turns()
        .then((loaded) => (signal.aborted ? createUnsentTurn(toError(signal.reason)) : act(loaded)))
        .catch((cause) => createUnsentTurn(toError(cause))),
    );
  };
  return {
    send: (content, { images = [] } = {}) => handOver(({ send }) => send({ content, images })),
    edit: (messageId, content, { images } = {}) =>
      handOver(({ send }) => send({ content, images, versionOf: messageId })),
    retry: () => handOver(({ again }) => again(getLastMessage(chat)?.id)),
    regenerate: (messageId) => handOver(({ again }) => again(findVersionPoint(chat.thread, messageId).below)),
    approve: (id) => handOver(({ react }) => react(id, { approved: true })),
    deny: (id, denied = "the user did not allow the call") => handOver(({ react }) => react(id, { denied })),
    addToolOutput: (id, output) => handOver(({ react }) => react(id, { output })),
    stop() {
      // gives what waits back at once, also where the code is still loading
      chat.stopping?.abort(createStoppedError());
      chat.stopping = undefined;
      chat.storage.stop(createStoppedError());
      turns()
        .then(({ stop }) => stop())
        .catch(verbs.stop);
    },
  };
}

/**
 * Hands the turns of a chat to the `runner` of a proxy, which goes on with no page open. The chat needs an `id` and the
 * storage of {@link remoteStorage}. Of `tools` those with `execute` run in this page where the runner has a tool of the name
 * without one; at most one page runs a call. Model, instructions and the other tools are those of the server.
 *
 * @example
 * ```tsx
 * const storage = remoteStorage(client);
 * const runner = serverRunner();
 * const chat = useChatStream({ id: "trip", model: "delta-5.3", storage, runner });
 * ```
 */
export function serverRunner(): TurnRunner {
  const runner: TurnRunner = {
    createVerbs: serverVerbsOf,
    // a device may be offline when it sends: then it hands the turn over later
    prepare: () => void import("./server-turns.js").catch(() => {}),
    onMerge(chat) {
      if (chat.own().tools?.length)
        import("./page-tools.js").then(({ runPageTools }) => runPageTools(chat)).catch(() => {});
    },
  };
  return runner;
}
