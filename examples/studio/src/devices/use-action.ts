import { useState } from "react";

/** Runs one action at a time, and keeps the error of the last one. */
export function useAction() {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<Error>();
  return { isBusy, error, run };

  function run(action: () => Promise<unknown>): void {
    setIsBusy(true);
    setError(undefined);
    action()
      .catch((cause) => setError(cause))
      .finally(() => setIsBusy(false));
  }
}
