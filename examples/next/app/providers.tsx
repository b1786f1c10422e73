"use client";

import { GatewayProvider } from "@sluice/react";
import type { ReactNode } from "react";
import { client } from "./client";

export function Providers({ children }: { children: ReactNode }) {
  return <GatewayProvider client={client}>{children}</GatewayProvider>;
}
