import { defineConfig } from 'vitest/config';

export default defineConfig({
  oxc: { decorator: { legacy: true, emitDecoratorMetadata: true } },
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'fast', include: ['test/{unit,contract,e2e}/**/*.test.ts'], testTimeout: 15_000 },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: ['test/{interop,packaging,faults,demo,topologies}/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // These measure times, and start fleets of processes: side by side they would disturb each other.
          fileParallelism: false,
        },
      },
    ],
  },
});
