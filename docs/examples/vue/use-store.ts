import type { Store } from "@sluice/core";
import { onScopeDispose, type ShallowRef, shallowRef } from "vue";

export function useStore<State>({ getSnapshot, subscribe }: Store<State>): ShallowRef<State> {
  const state = shallowRef(getSnapshot());
  onScopeDispose(
    subscribe(() => {
      state.value = getSnapshot();
    }),
  );
  return state;
}
