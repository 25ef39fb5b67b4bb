select 1 as before;
.exit 7
select 2 as after;
