import type { Client, RecordStorage } from "@sluice/core";
import { useClient, webStorage } from "@sluice/react";
import { useMemo, useReducer, useState, useSyncExternalStore } from "react";

interface UseDraftOptions {
  /** Storage of the drafts. @default `localStorage`, through `webStorage` */
  readonly storage?: RecordStorage | undefined;
}

/**
 * Preserves a user's input across reloads and route changes: a text or any other JSON, such as text and settings.
 *
 * Components with the same `key` and storage show the same draft. Tabs do not change each other's open drafts. If the
 * storage rejects a draft, the draft stays in the page. `signOut(client)` removes the stored drafts, but not a visible
 * draft. On a server, the draft is `initial`.
 *
 * @param key name of the draft: one for each conversation or form
 * @param initial value of an empty draft. It is read once
 * @example
 * ```tsx
 * function Composer({ id }: { id: string }) {
 *   const { send } = useChatStream({ id, model: "delta-5.3" });
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
export function useDraft<Value>(key: string, initial: Value, options: UseDraftOptions = {}) {
  const client = useClient();
  const { storage = localDrafts } = options;
  const [initialState] = useState(() => ({ value: initial, isRestoring: true }));
  // React reads stores only after a paint, but the next event handler needs the text typed before
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  const { subscribe, getState, ...methods } = useMemo(() => {
    const draft = () => openDraft(client, storage, key, initialState);
    function setDraft(change: Value | ((draft: Value) => Value)): void {
      const { state, set } = draft();
      set(typeof change === "function" ? (change as (draft: Value) => Value)(state.value) : change);
      rerender();
    }
    return {
      subscribe: (listener: () => void) => draft().subscribe(listener),
      getState: () => draft().state,
      setDraft,
      /** Restores the initial value, and removes the stored draft. */
      clearDraft: () => setDraft(initialState.value),
    };
  }, [client, storage, key, initialState]);
  const { value: draft, isRestoring } = useSyncExternalStore(subscribe, getState, () => initialState);
  return { draft, isRestoring, ...methods };
}

/** Writes at once, so that a draft survives the unload of the page. */
const localDrafts = webStorage(() => localStorage);

interface State<Value> {
  readonly value: Value;
  /** True until the storage was read. A draft that is set meanwhile stays. */
  readonly isRestoring: boolean;
}

interface Draft<Value> {
  state: State<Value>;
  readonly set: (value: Value) => void;
  readonly subscribe: (listener: () => void) => () => void;
}

const drafts = new WeakMap<Client, WeakMap<RecordStorage, Map<string, unknown>>>();

/** Returns the draft that all components with this key share. */
function openDraft<Value>(client: Client, storage: RecordStorage, key: string, first: State<Value>) {
  const draftsOfClient = drafts.get(client) ?? new WeakMap<RecordStorage, Map<string, unknown>>();
  drafts.set(client, draftsOfClient);
  const draftsOfStorage = draftsOfClient.get(storage) ?? new Map<string, unknown>();
  draftsOfClient.set(storage, draftsOfStorage);
  // each key has one type of draft
  const known = draftsOfStorage.get(key) as Draft<Value> | undefined;
  if (known) return known;
  const created = createDraft(formatCollection(client), storage, key, first, () =>
    draftsOfStorage.delete(key),
  );
  draftsOfStorage.set(key, created);
  return created;
}

/** Returns the name of the collection. It begins with the user, so that `signOut` removes it. */
function formatCollection({ user: scope }: Client): string {
  return scope === undefined ? "drafts" : `${JSON.stringify(scope)}/drafts`;
}

function createDraft<Value>(
  collection: string,
  storage: RecordStorage,
  key: string,
  { value }: State<Value>,
  forget: () => void,
): Draft<Value> {
  const listeners = new Set<() => void>();
  let isRead = false;
  let isChanged = false;
  let hasFailed = false;
  const draft: Draft<Value> = {
    state: { value, isRestoring: true },
    set(next) {
      isChanged = true;
      show({ ...draft.state, value: next });
      storage.write(collection, new Map([[key, next === value ? undefined : next]])).catch(() => {
        hasFailed = true;
      });
    },
    subscribe(listener) {
      listeners.add(listener);
      if (!isRead) void read();
      return () => {
        listeners.delete(listener);
        // the next component reads the draft from the storage, which a sign-out empties
        if (listeners.size === 0 && !hasFailed) forget();
      };
    },
  };
  return draft;

  async function read(): Promise<void> {
    isRead = true;
    const records = await storage.read(collection).catch(() => {
      hasFailed = true;
      return new Map<string, unknown>();
    });
    const stored = isChanged ? undefined : records.get(key);
    show({
      value: stored === undefined ? draft.state.value : (matchInitial(value, stored) ?? value),
      isRestoring: false,
    });
  }

  function show(state: State<Value>): void {
    draft.state = state;
    for (const listener of listeners) listener();
  }
}

/** Checks a stored draft by the type of the initial one, and adds the fields that it lacks. */
function matchInitial<Value>(initial: Value, stored: unknown): Value | undefined {
  if (typeof stored !== typeof initial || Array.isArray(stored) !== Array.isArray(initial)) return undefined;
  if (typeof stored !== "object" || stored === null || Array.isArray(stored)) return stored as Value;
  return { ...initial, ...stored };
}
