#!/usr/bin/env node
import { runHere } from "./command/run-here.js";

await runHere(process.argv.slice(2));
