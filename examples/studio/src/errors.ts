import { useStore } from "@nanostores/react";
import { describeError, type ErrorDescription } from "@sluice/react";
import { isAway, isOfOffline } from "./server.js";
import { unsentWords } from "./words.js";

interface DescriptionOptions extends NonNullable<Parameters<typeof describeError>[1]> {
  /** True where the request goes out by itself once the network is back. @default false */
  readonly isWaiting?: boolean;
}

/** Describes an error in words that are true now: what failed without a network has other words when it is back. */
export function useDescription(error: unknown, options?: DescriptionOptions): ErrorDescription {
  return useDescribe(options)(error);
}

/** Returns the function that describes errors in words that are true now. */
export function useDescribe({ isWaiting = false, ...options }: DescriptionOptions = {}) {
  const isOffline = useStore(isAway);
  return (error: unknown): ErrorDescription => {
    const description = describeError(error, options);
    return isOfOffline(error) ? { ...description, ...unsentWords({ isOffline, isWaiting }) } : description;
  };
}
