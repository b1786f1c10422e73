import { noteOptions, type WithOptions } from "@sluice/core/internal";
import { useState } from "react";
import { useClientIfAny } from "./provider.js";

/** Warns, in development, of options that a hook does not know: those that it had when it mounted. */
export function useNotedOptions(of: WithOptions, options: object): void {
  const client = useClientIfAny();
  useState(() => client && noteOptions(of, options, client));
}
