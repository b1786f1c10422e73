import type { FunctionComponent } from "react";
import {
  injectIntoGlobalHook,
  isLikelyComponentType,
  performReactRefresh,
  register,
  setSignature,
} from "react-refresh/runtime";

// imported before React DOM, which looks for the hook once
injectIntoGlobalHook(globalThis);

let modules = 0;

/**
 * A module with one component, as a bundler with fast refresh treats it: `load` says of each version what the compiler
 * says (its name, and the hooks that it calls as `signature`), `refresh` what the dev server does after an edit.
 */
export function createRefresh() {
  modules += 1;
  const id = `studio-${modules}.tsx Studio`;
  return { load, refresh };

  function load(component: FunctionComponent, signature: string): FunctionComponent {
    if (!isLikelyComponentType(component)) throw new TypeError("no component");
    register(component, id);
    setSignature(component, signature, false, () => []);
    return component;
  }

  function refresh(component: FunctionComponent, signature: string): void {
    load(component, signature);
    if (!performReactRefresh()) throw new Error("nothing was refreshed");
  }
}
