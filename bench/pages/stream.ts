import { peers } from "../peers/streams.js";
import { ratiosFor, type Size } from "../stream-ratios.ts";
import { own } from "../subjects.ts";

Object.assign(window, { run: (size: Size) => ratiosFor({ ...own, ...peers }, size) });
