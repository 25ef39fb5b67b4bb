let turns: bigint = 0n;
for (;;) turns++;
