import { toNodeHandler } from "@sluice/worker-proxy/node";
import express from "express";
import { respond } from "./src/proxy.ts";

export const app = express();
app.all("/api/*path", toNodeHandler(respond)); // before express.json(): the proxy reads the body
