create table lines (line text);
\copy lines from 'data/in.txt'
copy (select upper(line) from lines) to '/sandbox/output/out.txt';
