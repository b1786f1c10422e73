import type { RecordStorage } from "@sluice/core";
import { useMemo, useState } from "react";
import { useClient } from "../provider.js";
import { useIsHydrated } from "../use-is-hydrated.js";
import { useNotedOptions } from "../use-noted-options.js";
import { type DraftStore, draftStoreOf, localDrafts } from "./drafts.js";
import { useOwnStore } from "./use-own-store.js";

/** Options of `useDraft`. They are read once for each `key`. */
export interface UseDraftOptions<Value> {
  /** Storage of the drafts. @default `localStorage`, through `webStorage` */
  readonly storage?: RecordStorage | undefined;
  /**
   * Reads a stored draft, which may be of an older version of the app; undefined stands for the initial value.
   *
   * @default objects take the place of the initial one field by field; other values need the same type
   */
  readonly parse?: ((stored: unknown) => Value | undefined) | undefined;
}

/** Result of `useDraft`: the draft, and its verbs, which keep their identity. */
export interface UseDraftResult<Value> {
  /** The draft as it stands; the initial value on a server and until the storage was read. */
  readonly draft: Value;
  /** Replaces the draft, or changes it by a function. It is written within 0.4 s, and when the page is left. */
  readonly setDraft: (change: Value | ((draft: Value) => Value)) => void;
  /** Goes back to the initial value, after the message was sent. */
  readonly clearDraft: () => void;
  /** True until the storage was read, for at most 3 s. A draft that is set meanwhile stays. */
  readonly isRestoring: boolean;
}

/**
 * Keeps what a user enters over reloads and route changes: a text, or an object of text and settings. Any JSON.
 *
 * Components with the same `key` and storage show the same draft. Tabs do not change each other's open drafts: each
 * shows its own, and the one that was written last is there after a reload. Where the storage is refused, the draft
 * lasts as long as the page. Files are no JSON, and are not kept.
 *
 * @param key name of the draft: one for each conversation or form
 * @param initial value of an empty draft, read once for each `key`
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Composer({ id }: { id: string }) {
 *   const { send } = useChatStream({ id, model: "delta-5.3", storage });
 *   const { draft, setDraft, clearDraft } = useDraft(`chat/${id}`, "");
 *   const submit = () => {
 *     void send(draft);
 *     clearDraft();
 *   };
 *   return (
 *     <form action={submit}>
 *       <input value={draft} onChange={({ target }) => setDraft(target.value)} />
 *     </form>
 *   );
 * }
 * ```
 */
export function useDraft<Value>(
  key: string,
  initial: Value,
  options: UseDraftOptions<Value> = {},
): UseDraftResult<Value> {
  useNotedOptions("useDraft", options);
  const client = useClient();
  const [first] = useState(() => ({ initial, parse: options.parse }));
  const storage = options.storage ?? localDrafts();
  const store = useMemo(() => {
    const { initial, parse = (stored: unknown) => likeInitial(initial, stored) } = first;
    return draftStoreOf<Value>(client, { key, initial, storage, parse });
  }, [client, key, storage, first]);
  const [state, changed] = useOwnStore(store);
  const verbs = useMemo(() => verbsOf(store, changed), [store, changed]);
  const isHydrated = useIsHydrated();
  return {
    draft: isHydrated ? state.value : initial,
    ...verbs,
    isRestoring: !isHydrated || state.isRestoring,
  };
}

function verbsOf<Value>(
  { set, clear }: DraftStore<Value>,
  changed: () => void,
): Pick<UseDraftResult<Value>, "setDraft" | "clearDraft"> {
  return {
    setDraft(change) {
      set(change);
      changed();
    },
    clearDraft() {
      clear();
      changed();
    },
  };
}

/** Checks a stored draft by the type of the initial one, and adds the fields that it lacks. */
function likeInitial<Value>(initial: Value, stored: unknown): Value | undefined {
  if (typeof stored !== typeof initial || Array.isArray(stored) !== Array.isArray(initial)) return undefined;
  if (typeof stored !== "object" || stored === null || Array.isArray(stored)) return stored as Value;
  return { ...initial, ...stored };
}
