import { noteOptions } from "@sluice/core/extend";
import { useState } from "react";
import { useClientIfAny } from "./provider.js";

/** Warns about unknown options of a hook at its mount, in development. */
export function useNotedOptions(hook: Parameters<typeof noteOptions>[0], options: object): void {
  const client = useClientIfAny();
  useState(() => client && noteOptions(hook, options, client));
}
