import type { Store } from "@sluice/core";

export function readable<State>({ getSnapshot, subscribe }: Store<State>) {
  return {
    subscribe(run: (state: State) => void) {
      run(getSnapshot());
      return subscribe(() => run(getSnapshot()));
    },
  };
}
