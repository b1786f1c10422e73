"use client";

import { createClient } from "@sluice/core";

export const client = createClient({ baseURL: typeof window === "undefined" ? "http://x.test/api" : "/api" });
