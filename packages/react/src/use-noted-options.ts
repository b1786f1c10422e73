import { noteOptions, type WithOptions } from "@sluice/core/internal";
import { useState } from "react";
import { useClientIfAny } from "./provider.js";

/** Warns about unknown options of a hook at its mount, in development. */
export function useNotedOptions(of: WithOptions, options: object): void {
  const client = useClientIfAny();
  useState(() => client && noteOptions(of, options, client));
}
