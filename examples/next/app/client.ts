"use client";

import { createClient } from "@sluice/core";

export const client = createClient({ baseURL: "/api" });
