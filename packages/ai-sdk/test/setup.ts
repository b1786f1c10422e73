// the SDK prints the warnings of each call; the tests read them in its results
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
