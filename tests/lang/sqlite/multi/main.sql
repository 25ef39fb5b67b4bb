.read more.sql
select * from total;
