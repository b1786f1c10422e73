declare module "react-refresh/runtime" {
  export function injectIntoGlobalHook(global: object): void;
  export function isLikelyComponentType(type: unknown): boolean;
  export function register(type: unknown, id: string): void;
  export function setSignature(
    type: unknown,
    key: string,
    forceReset?: boolean,
    getCustomHooks?: () => readonly unknown[],
  ): void;
  /** Components that were refreshed; `null` for none. */
  export function performReactRefresh(): object | null;
}
