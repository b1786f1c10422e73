import type { SourceChange } from "./bundle.ts";

/** A bug that this project once had, and the changes that bring it back. */
export interface KnownBug {
  readonly name: string;
  readonly changes: readonly SourceChange[];
}

const conversation = "packages/core/src/chat/conversation";
const protocol = "packages/core/src/chat/protocol";
const transport = "packages/core/src/transport";
const proxy = "packages/worker-proxy/src";
const durable = "packages/durable/src";
const react = "packages/react/src";

/** Without it, a tab never removes what it has written once more. It hides older bugs, which come back without it alone. */
const removedOnce = change(
  `${conversation}/persistence/reading.ts`,
  "if (writer.own.has(id) && !initial.includes(id)) thread.remove(id);\n    else drop(id);",
  "drop(id);",
);

/** Bugs of the first fault report, then those that the simulation found. `pnpm simulate --put-back` looks for each. */
export const knownBugs: readonly KnownBug[] = [
  {
    name: "a frame of an odd type leaves its request open for ever",
    changes: [
      change(
        `${protocol}/choice-reader.ts`,
        'else for (const part of list(content, "choices.delta.content")) readPart(part);',
        "else if (content) for (const part of content as unknown[]) readPart(part);",
      ),
      change(`${protocol}/chunk-parser.ts`, "} catch (cause) {", "} catch (cause) {\n        throw cause;"),
      change(
        "packages/core/src/chat/stream.ts",
        "reading.fail(cause);",
        "if (!(cause instanceof TypeError) || cause.cause) reading.fail(cause);",
      ),
      change(
        `${conversation}/draft.ts`,
        "} catch (cause) {",
        "} catch (cause) {\n      if (cause instanceof TypeError) await new Promise(() => {});",
      ),
    ],
  },
  {
    name: "a finish reason of tool calls without a call repeats the request",
    changes: [
      change(
        `${protocol}/choice-reader.ts`,
        'if (choice.lacksCalls) return hasText ? "complete" : "error";',
        "",
      ),
      change(
        `${conversation}/turn-runner.ts`,
        'answer?.outcome !== "tool-calls" || !answer.toolCalls?.length) return;',
        'answer?.outcome !== "tool-calls") return;',
      ),
    ],
  },
  {
    name: "other JSON with status 200 is a whole answer without text",
    changes: [
      change(
        `${protocol}/whole-body.ts`,
        "if (!isRecord(choice?.message ?? choice?.delta)) return ending.refuse(bodyOf(whole));",
        "",
      ),
      change(`${protocol}/stream-end.ts`, "const isEmpty = !hasBegun()", "const isEmpty = false"),
      change(
        `${protocol}/whole-body.ts`,
        "if (frames.isError(noEvent, json)) ending.fail(whole);\n    else ending.end(",
        "ending.end(",
      ),
      change(
        `${protocol}/choice-reader.ts`,
        'if (choice.finishReason === null) return "unconfirmed";',
        'if (choice.finishReason === null) return "complete";',
      ),
    ],
  },
  {
    name: "where locks are refused, no video is created",
    changes: [
      change(
        "packages/core/src/tabs/locks.ts",
        "if (probe.refusal === undefined) return locks;",
        "return locks;",
      ),
      change(
        "packages/core/src/tabs/locks.ts",
        "if (isGranted || signal.aborted) throw error;",
        "throw error;",
      ),
    ],
  },
  {
    name: "one message that can't be stored keeps all others from the storage",
    changes: [
      change(
        "packages/core/src/storage/write-attempt.ts",
        "if (keys.length === 1 || attempt.isOver) return",
        "return",
      ),
    ],
  },
  {
    name: "each attempt to save leaves one more write in a storage that hangs",
    changes: [
      change(
        "packages/core/src/storage/record-writer.ts",
        "if (openWrites.isPaused()) return unsaved.hold(due);",
        "",
      ),
    ],
  },
  {
    name: "the id of a billed task is lost with an odd field of its receipt",
    changes: [
      change(
        "packages/core/src/videos/create.ts",
        'const seconds = fieldOf(client, "created_at", "number", receipt.created_at) ?? 0;',
        'if (typeof receipt.created_at !== "number") throw new TypeError("created_at");\n  const seconds = fieldOf(client, "created_at", "number", receipt.created_at) ?? 0;',
      ),
    ],
  },
  {
    name: "each tab continues after the result of a tool",
    changes: [
      change(
        `${conversation}/call-reactions.ts`,
        "return storage.withLockOf(message.id, () => react(message.id));",
        "return react(message.id);",
      ),
    ],
  },
  {
    name: "an unreadable record hides all messages behind it",
    changes: [
      change(
        `${conversation}/placement.ts`,
        "placed.size < nodes.size ? [...new Set([...placed, ...nodes.keys()])].sort(byAge) : [];",
        "[];",
      ),
    ],
  },
  {
    name: "a request that was never sent may be billed",
    changes: [change(`${transport}/send.ts`, 'return state.outcome === "not-sent"', "return false")],
  },
  {
    name: "a question that was stopped while the chat was restored is sent",
    changes: [
      change(
        `${conversation}/storage-session.ts`,
        "      ).then(unlessReader, notSent);",
        "      ).then(unlessReader, unlessReader);",
      ),
    ],
  },
  {
    name: "a refusal that falls silent is no refusal",
    changes: [
      change(
        `${transport}/refusal.ts`,
        "const { signal, end } = openSpan(clock, caller, REFUSAL_MS, () => undefined);",
        "const { signal, end } = openSpan(clock, caller, Number.POSITIVE_INFINITY, () => undefined);",
      ),
    ],
  },
  {
    name: "a tool call of a crashed tab runs for ever in the others",
    changes: [
      change(
        `${conversation}/records.ts`,
        "return afterReload(message) !== message;",
        "return isUnderWay(message);",
      ),
    ],
  },
  {
    name: "a message that was removed comes back from a slow storage",
    changes: [
      change(
        `${conversation}/persistence/reading.ts`,
        "return !removed.has(id) && !removedMeanwhile?.has(id);",
        "return !removedMeanwhile?.has(id);",
      ),
    ],
  },
  {
    name: "a message that another tab removed during a read comes back",
    changes: [
      change(
        `${conversation}/persistence/reading.ts`,
        "return !removed.has(id) && !removedMeanwhile?.has(id);",
        "return !removed.has(id);",
      ),
    ],
  },
  {
    name: "a removed answer comes back from a tab that gets its lock before the notice",
    changes: [
      change(
        `${conversation}/persistence/reading.ts`,
        "if (id !== undefined && stored.has(id) && !records.has(id)) drop(id);",
        "",
      ),
      removedOnce,
    ],
  },
  {
    name: "a removed message comes back with a write that was on its way",
    changes: [
      change(
        "packages/core/src/storage/record-writer.ts",
        "if (!inFlight.has(key) && !unsaved.records.get(key)?.late) due.delete(key);",
        "due.delete(key);",
      ),
      removedOnce,
    ],
  },
  {
    name: "a message that a tab has removed before it was closed comes back with the write of another one",
    changes: [removedOnce],
  },
  {
    name: "a removed message comes back with the last write of a closed tab",
    changes: [
      change(`${conversation}/persistence/reading.ts`, "        if (!isPassed) removeAgain(key);\n", ""),
    ],
  },
  {
    name: "a retry that waits for another tab repeats what that tab has done",
    changes: [change(`${conversation}/insertion-point.ts`, "[last.id, belowRetry", "[belowRetry")],
  },
  {
    name: "a record of the queue that is damaged into an answer streams for ever",
    changes: [change(`${conversation}/records.ts`, "id === LEAF || id.startsWith(QUEUED) || ", "")],
  },
  {
    name: "a chat that is let go before its storage has all of it is shown as it was before",
    changes: [change(`${react}/chats.ts`, "store.getSnapshot().unsaved > 0 || ", "")],
  },
  {
    name: "a page that was frozen while it read its videos shows none of them",
    changes: [
      change(
        "packages/core/src/storage/wait.ts",
        "const taken = answer.then(take);",
        'let isLate = false;\n  answer.then((late) => { if (isLate) take(late); }, () => {});\n  const taken = within(client.clock, WAIT_MS, answer, "the storage").then(take, () => {\n    isLate = true;\n  });',
      ),
      change("packages/core/src/storage/wait.ts", "taken.catch(() =>", "answer.catch(() =>"),
    ],
  },
  {
    name: "a request that stops a kept answer has no limit of time",
    changes: [
      change(
        "packages/core/src/transport/request-once.ts",
        "client.clock.sleep(TOTAL_MS, ended.signal)",
        "new Promise(() => {})",
      ),
    ],
  },
  {
    name: "a removed video comes back in a tab that was frozen",
    changes: [
      change(
        "packages/core/src/videos/entry-storage.ts",
        "if (known === entry || table.entries.get(entry.key) !== entry) return;",
        "",
      ),
    ],
  },
  {
    name: "a submission of a crashed tab is under way for ever in the others",
    changes: [
      change(
        "packages/core/src/videos/entry-storage.ts",
        "void adopt(kept, copy.entry, afterSubmission(client, copy.entry));",
        "void afterSubmission;",
      ),
    ],
  },
  {
    name: "two tabs poll one video, once they know it at different progress",
    changes: [
      change(
        "packages/core/src/videos/renewal.ts",
        "...usual,",
        "...usual,\n      name: String(usual.known.snapshot?.progress ?? 0) + usual.name,",
      ),
    ],
  },
  {
    name: "an image request whose answer was lost is sent again",
    changes: [change("packages/core/src/images/generate.ts", 'repeat: "refused-only",', 'repeat: "any",')],
  },
  {
    name: "a lost order is asked for again with another key",
    changes: [
      change(
        `${transport}/failure.ts`,
        'return error.name === "ConnectionError" || error.outcome === "not-sent";',
        'return error.outcome === "not-sent";',
      ),
    ],
  },
  {
    name: "a film of a crashed tab is paid again by another one that asks for it at once",
    changes: [
      change(
        "packages/core/src/videos/create.ts",
        "if ((await isLocked(client, submissionLock(client, key))) !== false) continue;",
        "continue;",
      ),
    ],
  },
  {
    name: "the second click of a double click makes images, too",
    changes: [
      change(
        "packages/core/src/images/store.ts",
        "    run = started;\n",
        "    queueMicrotask(() => {\n      run = started;\n    });\n",
      ),
    ],
  },
  {
    name: "the id of an asset is lost when its store is reset before the receipt",
    changes: [
      change(
        "packages/core/src/tasks/task-store.ts",
        "else if (created) onCreate?.(created);",
        "else if (created && !isForgotten) onCreate?.(created);",
      ),
    ],
  },
  {
    name: "a request of a client that leaves costs nothing",
    changes: [
      change(
        `${proxy}/gateway/call.ts`,
        'const usual = failure === "upstream_unreachable" ?',
        'const usual = failure === "upstream_unreachable" || failure === "client_left" ?',
      ),
    ],
  },
  {
    name: "an answer that is cut before its first word costs nothing",
    changes: [
      change(
        `${proxy}/gateway/relay.ts`,
        'const isRefused = code === "upstream_error" && contents === 1;',
        'const isRefused = contents === 0 || (code === "upstream_error" && contents === 1);',
      ),
    ],
  },
  {
    name: "of two tabs that go on from one state each keeps its own answer",
    changes: [
      change(`${conversation}/join.ts`, "Number(isFinal(copy)) - Number(isFinal(local)) ||", ""),
      change(`${conversation}/join.ts`, "Number(isWhole(copy)) - Number(isWhole(local)) ||", ""),
      change(`${conversation}/join.ts`, "copy.message.content.length - local.message.content.length ||", ""),
      change(`${conversation}/join.ts`, "compare(copy.message.content, local.message.content) ||", ""),
    ],
  },
  {
    name: "a request that is lost with its object costs nothing",
    changes: [
      change(
        `${durable}/objects/job.ts`,
        "return isReported ? spent : reserved;",
        "return isReported ? spent : 0;",
      ),
    ],
  },
  {
    name: "a request that was never sent is charged where its reservation failed",
    changes: [
      change(
        `${durable}/objects/job.ts`,
        "isReserving ? 0 : paid ? paid.spent : spent,",
        "paid ? paid.spent : isReserving ? 0 : spent,",
      ),
    ],
  },
  {
    name: "a settlement that is sent again is charged again",
    changes: [
      change(
        `${durable}/budget/ledger.ts`,
        "if (!row) return undefined;",
        'if (!row) return void sql.exec("UPDATE windows SET spent = spent + ?", spent);',
      ),
    ],
  },
  {
    name: "a reservation whose answer was lost is not given back",
    changes: [
      change(`${durable}/budget/budget.ts`, "        ledgers.push(name);\n", ""),
      change(
        `${durable}/budget/budget.ts`,
        "if (retryAfterMs === undefined) return undefined;",
        "ledgers.push(name);\n        if (retryAfterMs === undefined) return undefined;",
      ),
    ],
  },
  {
    name: "a stream that is kept is charged by what was read, not by how it ended",
    changes: [
      change(
        `${durable}/kept-answers/sending.ts`,
        "account?.close(outcome, usage);",
        'account?.close(code === undefined ? outcome : "refused", usage);',
      ),
    ],
  },
  {
    name: "the gateway's key is in the text of its refusals",
    changes: [
      change(
        `${proxy}/gateway/read-answer.ts`,
        'typeof value === "string" && value !== "" && !openKeyWatch(keys)(value);',
        'typeof value === "string" && value !== "" && keys.length > 0;',
      ),
    ],
  },
  {
    name: "a chat that no component shows any more is never closed",
    changes: [
      change(
        `${react}/use-shared-store.ts`,
        "useLifetime(() => registry.hold(key, shared), [registry, key, shared]);",
        "useLifetime(() => void registry.hold(key, shared), [registry, key, shared]);",
      ),
    ],
  },
  {
    name: "a store that a component finds again is closed all the same",
    changes: [change("packages/core/src/base/store.ts", "      entry.leaving?.abort();\n", "")],
  },
  {
    name: "a component that is shown again goes back to the task of its id",
    changes: [change(`${react}/use-task.ts`, "if (attached.to === store && attached.id === id) return;", "")],
  },
  {
    name: "a component misses what its chat gets without a change of its status",
    changes: [
      change(
        `${react}/use-store.ts`,
        "const unsubscribe = subscribe(catchUp);",
        "const unsubscribe = () => {};",
      ),
    ],
  },
  {
    name: "a task is polled for a component that is gone",
    changes: [
      change(
        `${react}/use-task.ts`,
        "const state = useSyncExternalStore(enabled ? subscribe : noSubscription, getSnapshot, getSnapshot);",
        "const [keep] = useState(() => (listener: () => void) => void store.subscribe(listener) as never);\n  const state = useSyncExternalStore(enabled ? keep : noSubscription, getSnapshot, getSnapshot);",
      ),
    ],
  },
  {
    name: "a page that is left waits for an earlier write before it writes its last text",
    changes: [
      change(
        "packages/core/src/storage/record-writer.ts",
        "    const written = [[...first], refused].filter(({ length }) => length > 0).map(attempt);\n    writing = Promise.all([writing, ...written]).then(() => {});",
        "    writing = writing.then(() => attempt([...first])).then(() => {});",
      ),
    ],
  },
  {
    name: "a second tab continues a turn while another call of it is open",
    changes: [change(`${conversation}/call-reactions.ts`, " && !message.toolCalls?.some(isOpen))", ")")],
  },
  {
    name: "a user of the same browser sees the chat of another one",
    changes: [
      change("packages/core/src/base/scope.ts", "return scope === undefined ? name :", "return name ||"),
    ],
  },
  {
    name: "events of a kept answer that come again are read again",
    changes: [
      change(
        `${protocol}/event-cursor.ts`,
        "const place = placeOf(id);",
        'const place: EventPlace = "next";',
      ),
    ],
  },
  {
    name: "the attempts at a kept answer have no key",
    changes: [
      change(
        `${transport}/send.ts`,
        "headers.set(KEY_HEADER, exchange.idempotencyKey ?? randomId());",
        "void 0;",
      ),
    ],
  },
  {
    name: "a retry of a lost answer has a new key",
    changes: [
      change(
        `${conversation}/turn/answer.ts`,
        "idempotencyKey: idempotencyKey ?? newKey()",
        "idempotencyKey: randomId()",
      ),
    ],
  },
  {
    name: "a connection that breaks is called one that was never made",
    changes: [
      change(
        `${transport}/failure.ts`,
        '"the connection failed before an answer came; the gateway may have received the request",\n        "unknown",',
        '"the connection failed before an answer came; the gateway may have received the request",\n        "not-sent",',
      ),
    ],
  },
  {
    name: "a create that was refused may be billed",
    changes: [
      change(
        `${transport}/failure.ts`,
        'isRefused(error) ? "refused" : "unknown"',
        'isRefused(error) ? "unknown" : "unknown"',
      ),
    ],
  },
  {
    name: "a refusal of the last attempt hides one that was billed",
    changes: [
      change(
        `${transport}/failure.ts`,
        'return one === "not-sent" || other === "unknown" ? other : one;',
        "return one && other;",
      ),
    ],
  },
  {
    name: "a tab that was frozen puts an older answer in the place of the end of a film",
    changes: [
      change(
        "packages/core/src/videos/entry-table.ts",
        "if (!task || endOf(entry)) return entry;",
        "if (!task || task) return entry;",
      ),
      change("packages/core/src/videos/entry-storage.ts", "if (entry && isBehind) put(entry);", ""),
      change("packages/core/src/videos/entry-storage.ts", "if (entry && endOf(entry)) onEnd(entry);", ""),
    ],
  },
  {
    name: "another tab sends what has left the queue, while the storage does not take its removal",
    changes: [
      change(
        `${conversation}/persistence/other-tabs.ts`,
        "return id.startsWith(QUEUED) ? taken(id) : written();",
        "return written();",
      ),
    ],
  },
  {
    name: "images that are stopped are never billed",
    changes: [
      change(
        `${transport}/billing-outcome.ts`,
        'if (event.type === "request") onOutcome("unknown");',
        'if (event.type === "request") onOutcome("refused");',
      ),
    ],
  },
];

/** Makes a change of one source file. */
export function change(file: string, find: string, replace: string): SourceChange {
  return { file, find, replace };
}
